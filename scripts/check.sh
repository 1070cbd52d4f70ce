#!/usr/bin/env bash
# Checks the form of the sources: clang-format, then clang-tidy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOT'
Usage: scripts/check.sh [--format-only] [--changed [REF]] [--build DIR] [--fix] [FILE...]

Checks every C++ file of lib/, apps/, tests/ and third_party/, or only FILE...; changes nothing unless asked.

  --format-only     clang-format only (seconds); clang-tidy takes 5 to 60 s a file
  --changed [REF]   only files that differ from REF (default HEAD), and new ones
  --build DIR       the build folder whose compile_commands.json clang-tidy reads (default build/dev: unity builds list no single files)
  --fix             let clang-format rewrite the files it would complain about

Exit: 0 nothing found (or a tool is missing: it says so plainly), 1 findings, 2 wrong use.
EOT
}

format_only=0 changed=0 ref=HEAD build=build/dev fix=0 files=()
while [ $# -gt 0 ]; do
  case "$1" in
    --format-only) format_only=1 ;;
    --changed) changed=1; if [ $# -gt 1 ] && git rev-parse -q --verify "$2^{commit}" >/dev/null; then ref=$2; shift; fi ;;
    --build) build=${2:?--build needs a folder}; shift ;;
    --fix) fix=1 ;;
    -h | --help) usage; exit ;;
    -*) echo "check.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) [ -f "$1" ] || { echo "check.sh: no file $1" >&2; exit 2; }; files+=("$1") ;;
  esac
  shift
done
say() { echo "check: $*"; }

if [ ${#files[@]} = 0 ]; then
  patterns=('lib/*.h' 'lib/*.cpp' 'apps/*.h' 'apps/*.cpp' 'tests/*.h' 'tests/*.cpp' 'third_party/*.h' 'third_party/*.cpp')
  if [ "$changed" = 1 ]; then
    list() { git diff --name-only --diff-filter=d "$ref" -- "${patterns[@]}"; git ls-files -o --exclude-standard -- "${patterns[@]}"; }
  else
    list() { git ls-files -co --exclude-standard -- "${patterns[@]}"; }
  fi
  while IFS= read -r file; do [ -f "$file" ] && files+=("$file"); done < <(list | sort -u)
fi
if [ ${#files[@]} = 0 ]; then say "no C++ files to check"; exit 0; fi
findings=0

# ---- clang-format
if ! command -v clang-format >/dev/null; then
  say "clang-format is not installed: the format of ${#files[@]} files was NOT checked"
elif [ "$fix" = 1 ]; then
  clang-format -i "${files[@]}"
  say "clang-format: rewrote what needed it in ${#files[@]} files"
elif clang-format --dry-run -Werror "${files[@]}"; then
  say "clang-format: ${#files[@]} files are in form"
else
  say "clang-format: files above are not in form (scripts/check.sh --format-only --fix)"
  findings=1
fi
[ "$format_only" = 1 ] && exit "$findings"

# ---- clang-tidy: .cpp files; headers are seen through them (HeaderFilterRegex)
if ! command -v clang-tidy >/dev/null; then
  say "clang-tidy is not installed: ${#files[@]} files were NOT linted"
  exit "$findings"
fi
if [ ! -f "$build/compile_commands.json" ]; then
  say "no $build/compile_commands.json (configure first, or --build DIR): ${#files[@]} files were NOT linted"
  exit "$findings"
fi
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
# gcc's precompiled headers mean nothing to clang: the same includes are given to it as plain headers
python3 - "$build/compile_commands.json" "$database" "${files[@]}" >"$database/units" <<'EOT'
import json, os, re, shutil, sys
commands, out, wanted = sys.argv[1], sys.argv[2], {os.path.realpath(f) for f in sys.argv[3:]}
entries = []
for entry in json.load(open(commands)):
    path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
    if path not in wanted:
        continue
    for header in set(re.findall(r"-include (\S+cmake_pch\.hxx)", entry["command"])):
        copy = os.path.join(out, header.strip("/").replace("/", "_"))
        shutil.copyfile(header, copy)
        entry["command"] = entry["command"].replace(header, copy)
    # warnings are gcc's business, and some of its names are unknown to clang
    entry["command"] = re.sub(r" (-W\S+|-fpch-preprocess)(?= )", "", entry["command"])
    entries.append(entry)
    print(path)
json.dump(entries, open(os.path.join(out, "compile_commands.json"), "w"))
EOT
sort -u -o "$database/units" "$database/units"
count=$(wc -l <"$database/units")
say "clang-tidy: $count of ${#files[@]} files are compiled in $build (headers are seen through them); $(nproc) at a time"
if xargs -r -P "$(nproc)" -n 1 clang-tidy -quiet -p "$database" <"$database/units" 2>"$database/errors"; then
  say "clang-tidy: nothing found"
else
  grep -v 'warnings\? \(generated\|treated as errors\)' "$database/errors" >&2 || true
  say "clang-tidy: see the findings above"
  findings=1
fi
exit "$findings"

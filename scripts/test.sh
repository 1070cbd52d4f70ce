#!/usr/bin/env bash
# Sets up what is missing, builds everything, runs the tests.  Ends with a line `N passed, N failed, N skipped`; what
# was skipped says why.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

usage() {
  cat <<'EOF'
Usage: scripts/test.sh [--cpu | --cuda] [--preset release|dev|tsan] [-- ctest options]

  --cpu, --cuda   which LibTorch scripts/setup.sh installs (see there)
  --require-cuda-library   fail where libtrainctl_cuda.so was not built (it is wherever CUDA's headers are)
  --preset NAME   release (default); dev: debug with ASan and UBSan; tsan: the control half with ThreadSanitizer
  -- ...          e.g. -- -L unit, -- -R parity
EOF
}
setup=() preset=release require_cuda=0
while [ $# -gt 0 ]; do
  case "$1" in
    --cpu | --cuda) setup+=("$1") ;;
    --require-cuda-library) require_cuda=1 ;;
    --preset) preset=$2; shift ;;
    --) shift; break ;;
    -h | --help) usage; exit 0 ;;
    *) echo "test.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

scripts/setup.sh --oracle "${setup[@]}"
scripts/fetch_shakespeare.sh
build "$preset"
if [ "$require_cuda" = 1 ] && [ ! -e "build/$preset/lib/libtrainctl_cuda.so" ]; then
  grep 'CUDA library' "build/$preset.log" >&2 || true
  echo "libtrainctl_cuda.so was not built" >&2
  exit 1
fi

log=build/$preset-ctest.log
status=0
ctest --test-dir "build/$preset" --output-on-failure "$@" 2>&1 | tee "$log" || status=$?

# A skipped test (exit 77) prints its reason; ctest hides the output of tests that did not fail.
junit() { grep -cE "$1" "$log" || true; }
passed=$(junit '^ *[0-9]+/[0-9]+ Test .* Passed ')
skipped=$(junit '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped')
total=$(junit '^ *[0-9]+/[0-9]+ Test ')
if [ "$skipped" -gt 0 ]; then
  echo "skipped, because:"
  names=$(sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.*\*\*\*Skipped.*/\1/p' "$log" | paste -sd'|')
  ctest --test-dir "build/$preset" -R "^($names)\$" -V 2>/dev/null | grep -iE '^[0-9]+: .*(skipped:|not run)' || true
fi
if [ "$total" = 0 ]; then echo "no test ran" >&2; status=1; fi
echo "$passed passed, $((total - passed - skipped)) failed, $skipped skipped"
exit "$status"

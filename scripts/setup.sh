#!/usr/bin/env bash
# Sets up what trainctl needs to build and run: Debian packages, LibTorch and, for the parity tests, Python PyTorch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOF'
Usage: scripts/setup.sh [--cpu | --cuda] [--oracle] [--check]

Installs what is missing and leaves alone what is there.  Everything but the Debian packages goes into .deps/.

  --cpu      LibTorch for CPUs, 545 MB of download (default where there is neither an NVIDIA driver nor a toolkit)
  --cuda     LibTorch with CUDA 13.0, cuDNN and NCCL, 2.5 GB of download (default elsewhere)
  --oracle   also Python PyTorch 2.11, transformers, torchvision, tokenizers into .deps/oracle, about 5 GB on disk
  --check    change nothing; say what is there and what is missing; exit 1 if something is missing
  TRAINCTL_LIBTORCH=DIR   use the LibTorch 2.11 in DIR (wheel layout or official zip) instead of .deps/libtorch
EOF
}

flavour='' oracle=0 check=0
for arg in "$@"; do
  case "$arg" in
    --cpu | --cuda) flavour=${arg#--} ;;
    --oracle) oracle=1 ;;
    --check) check=1 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "setup.sh: unknown option $arg" >&2; usage >&2; exit 2 ;;
  esac
done
if [ -z "$flavour" ]; then
  flavour=cpu
  if [ -e /proc/driver/nvidia/version ] || [ -d "${CUDA_HOME:-/usr/local/cuda}" ]; then flavour=cuda; fi
fi

say() { echo "setup: $*"; }
missing=0
need() {  # need WHAT: in --check mode notes that WHAT is missing and returns 1; else says that it is being installed
  if [ "$check" = 1 ]; then say "missing: $1"; missing=1; return 1; fi
  say "installing $1"
}

# ---- Debian packages
packages=(g++ cmake ninja-build pkg-config python3 python3-venv ca-certificates git
  libyaml-cpp-dev libcli11-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libxxhash-dev libpcre2-dev
  libsentencepiece-dev catch2)
absent=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || absent+=("$package")
done
if [ ${#absent[@]} = 0 ]; then
  say "Debian packages: all ${#packages[@]} are there"
elif need "Debian packages: ${absent[*]}"; then
  command -v apt-get >/dev/null || { say "no apt-get here; install by hand: ${absent[*]}"; exit 3; }
  sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say "run as root, or install sudo, or install by hand: ${absent[*]}"; exit 3; }
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${absent[@]}" >/dev/null
fi

# ---- LibTorch: the wheels, each checked by its hash, unpacked as they lie in site-packages
pip() {  # one pip of the project's own, so that the system's is neither needed nor touched
  [ -x .deps/pip/bin/python ] || python3 -m venv .deps/pip
  .deps/pip/bin/python -m pip --disable-pip-version-check "$@"
}
download() {  # download REQUIREMENTS...: pinned wheels into .deps/downloads, whatever Python is here
  local args=()
  for file in "$@"; do args+=(-r "$file"); done
  pip download -q --no-deps --require-hashes --only-binary=:all: --python-version 3.11 \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux_2_18_x86_64 --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 \
    --platform manylinux1_x86_64 --find-links .deps/downloads -d .deps/downloads "${args[@]}"
}
requirements=(scripts/deps/libtorch-cpu.txt)
[ "$flavour" = cuda ] && requirements+=(scripts/deps/libtorch-cuda.txt)
if [ -n "${TRAINCTL_LIBTORCH:-}" ]; then
  lib=$TRAINCTL_LIBTORCH; [ -d "$lib/torch/lib" ] && lib=$lib/torch
  [ -e "$lib/lib/libtorch_cpu.so" ] || { say "TRAINCTL_LIBTORCH=$TRAINCTL_LIBTORCH has no lib/libtorch_cpu.so"; exit 2; }
  say "LibTorch: using $lib (TRAINCTL_LIBTORCH)"
else
  stamp=$(cat "${requirements[@]}" | sha256sum | cut -c1-16)
  if [ -e ".deps/libtorch/.$flavour-$stamp" ] || { [ "$flavour" = cpu ] && ls .deps/libtorch/.cuda-* >/dev/null 2>&1; }; then
    say "LibTorch 2.11.0 ($flavour): there, in .deps/libtorch"
  elif need "LibTorch 2.11.0 ($flavour) into .deps/libtorch, from the PyTorch wheel"; then
    mkdir -p .deps/downloads
    download "${requirements[@]}"
    rm -rf .deps/libtorch.new
    python3 - "${requirements[@]}" <<'EOF'
import glob, re, sys, zipfile
for line in (l for f in sys.argv[1:] for l in open(f) if not l.startswith("#")):
    name, version = re.match(r"([\w-]+)==([\w.]+)", line).groups()
    wheel, = glob.glob(f".deps/downloads/{name.replace('-', '_')}-{version}-*.whl")
    with zipfile.ZipFile(wheel) as z:
        # of torch itself only the C++ half; the NVIDIA wheels hold libraries and headers
        wanted = [n for n in z.namelist() if re.match(r"torch/(lib/(?!libtorch_python|python)|include/)|nvidia/", n)]
        z.extractall(".deps/libtorch.new", wanted)
EOF
    rm -rf .deps/libtorch
    mv .deps/libtorch.new .deps/libtorch
    touch ".deps/libtorch/.$flavour-$stamp"
  fi
fi

# ---- the oracle: Python PyTorch, for the parity tests and the benchmarks
if [ "$oracle" = 1 ]; then
  stamp=$(sha256sum scripts/deps/oracle.txt | cut -c1-16)
  if [ -e ".deps/oracle/.$stamp" ]; then
    say "oracle: there, in .deps/oracle"
  elif need "the oracle (Python PyTorch 2.11 and friends, about 5 GB) into .deps/oracle"; then
    rm -rf .deps/oracle
    python3 -m venv .deps/oracle
    .deps/oracle/bin/python -m pip --disable-pip-version-check install -q --find-links .deps/downloads \
      -r scripts/deps/oracle.txt
    touch ".deps/oracle/.$stamp"
  fi
fi

if [ "$missing" = 1 ]; then say "run scripts/setup.sh without --check to install what is missing"; exit 1; fi
say "done"

#!/usr/bin/env bash
# Checks trainctl on an NVIDIA GPU, in at most 8 minutes: the tests labelled gpu, a short training, a short benchmark.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'END'
Usage: scripts/gpu_check.sh [--tree DIR]            on a machine with an NVIDIA GPU and LibTorch 2.11 for CUDA 13
       scripts/gpu_check.sh --pack FILE [--tree DIR]  anywhere with a build: makes a tarball of it for such a machine

  --tree DIR   a build folder (bin/, lib/, tests/) or an unpacked tarball; default: this tarball, else build/release,
               else it builds there (without a network: the Debian packages of setup.sh must be there)
  --pack FILE  stripped, <= 60 MB, with the shared libraries that it needs besides LibTorch; unpack it and run its
               scripts/gpu_check.sh
LibTorch is $TRAINCTL_LIBTORCH, else .deps/libtorch, else that of `python3 -c "import torch"`.
Exit: 0 all passed, 1 something failed, 77 nothing was run (it says why).
END
}

tree='' pack=''
while [ $# -gt 0 ]; do
  case "$1" in
    --tree) tree=$(cd "$2" && pwd); shift 2 ;;
    --pack) pack=$(realpath -m "$2"); shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "gpu_check: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done
if [ -z "$tree" ]; then
  tree=$here/build/release
  [ -x "$here/bin/trainctl" ] && tree=$here
fi
programs=(bin/trainctl lib/libtrainctl_engine.so lib/libtrainctl_cuda.so tests/cuda_test)
nothing() { echo "gpu_check: nothing was run: $*"; exit 77; }

# ---- --pack
if [ -n "$pack" ]; then
  for file in "${programs[@]}"; do
    [ -e "$tree/$file" ] || { echo "gpu_check: $tree/$file is missing; build it first" >&2; exit 1; }
  done
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  mkdir -p "$stage"/gpu_check/{bin,lib,tests,deps,scripts}
  for file in "${programs[@]}"; do strip -o "$stage/gpu_check/$file" "$tree/$file"; chmod 755 "$stage/gpu_check/$file"; done
  cp "$here/scripts/gpu_check.sh" "$stage/gpu_check/scripts/"
  # Distribution libraries that the programs name themselves (LibTorch brings its own), and what those need;
  # glibc and the compiler's runtime are on every machine.
  ldd "${programs[@]/#/$tree/}" 2>/dev/null | awk '$3 ~ /^\/(usr\/)?lib\// {print $3}' | sort -u |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libutil|libresolv|ld-linux[^/]*)\.so' |
    while read -r library; do cp -L "$library" "$stage/gpu_check/deps/"; done
  tar -C "$stage" -czf "$pack" gpu_check
  size=$(stat -c %s "$pack")
  echo "gpu_check: packed $pack, $((size / 1000)) kB"
  [ "$size" -le 60000000 ] || { echo "gpu_check: that is more than 60 MB" >&2; exit 1; }
  exit 0
fi

# ---- what is here
if ! { nvidia-smi -L >/dev/null 2>&1 || [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidia0 ]; }; then
  nothing "no NVIDIA GPU on this machine (no nvidia-smi, no /proc/driver/nvidia, no /dev/nvidia0)"
fi
torch=''
for dir in "${TRAINCTL_LIBTORCH:-}" "$here/.deps/libtorch" \
  "$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null || true)"; do
  [ -n "$dir" ] || continue
  [ -d "$dir/torch/lib" ] && dir=$dir/torch
  if [ -e "$dir/lib/libtorch_cuda.so" ]; then torch=$dir; break; fi
done
[ -n "$torch" ] || nothing "no LibTorch with libtorch_cuda.so (set TRAINCTL_LIBTORCH)"
version=$(sed -nE 's/^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' "$torch/include/torch/headeronly/version.h" 2>/dev/null |
  paste -sd.)
case "$version" in 2.11.*) ;; *) nothing "LibTorch in $torch is ${version:-of unknown version}; 2.11 is needed" ;; esac
echo "gpu_check: LibTorch $version in $torch"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || true

# ---- build, unless it is there
if ! [ -x "$tree/bin/trainctl" ] || ! [ -e "$tree/lib/libtrainctl_cuda.so" ] || ! [ -x "$tree/tests/cuda_test" ]; then
  [ -f "$here/CMakeLists.txt" ] || nothing "$tree holds no build, and there is no source here to build"
  log=$(mktemp)
  echo "gpu_check: building in $here/build/release"
  if ! { cd "$here" && cmake --preset release -DTRAINCTL_LIBTORCH="$torch" &&
    cmake --build build/release --target trainctl trainctl_engine trainctl_cuda cuda_test; } >"$log" 2>&1; then
    tail -n 30 "$log"
    nothing "the build failed (above; all of it in $log)"
  fi
  tree=$here/build/release
fi

# ---- run
export LD_LIBRARY_PATH=$torch/lib:$tree/deps${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache  # measure the peak here and now
failed=0
step() {  # step SECONDS NAME COMMAND...: runs it within that time, and says how it ended
  local limit=$1 name=$2 begin=$SECONDS code=0
  shift 2
  timeout -k 5 "$limit" "$@" || code=$?
  echo "gpu_check: $name: $([ $code = 0 ] && echo passed || echo "FAILED (exit $code)") in $((SECONDS - begin)) s"
  [ $code = 0 ] || failed=1
}
job() {  # job NAME PRESET STEPS MICRO_BATCH DTYPE: a job on made-up tokens
  cat >"$work/$1.yaml" <<END
name: $1
run_dir: $work/run-$1
launch: {nproc_per_node: 1}
model: {preset: $2}
optimizer: {lr: 1e-3}
train: {steps: $3, micro_batch: $4}
precision: {compute: $5}
baseline: {steps: $3, warmup_steps: 5}
END
}

code=0
timeout -k 5 180 "$tree/tests/cuda_test" || code=$?
[ $code = 77 ] && nothing "the tests were skipped (above)"
echo "gpu_check: tests labelled gpu: $([ $code = 0 ] && echo passed || echo "FAILED (exit $code)")"
[ $code = 0 ] || failed=1

job gpt2-tiny gpt2-tiny 30 8 fp32
step 90 "gpt2-tiny, through every stage" "$tree/bin/trainctl" run "$work/gpt2-tiny.yaml" --set launch.device=cuda
job gpt2-124m gpt2-124m 30 16 bf16
step 150 "gpt2-124m, baseline in bf16" "$tree/bin/trainctl" baseline "$work/gpt2-124m.yaml" --set launch.device=cuda

python3 - "$work/run-gpt2-124m" <<'END' || failed=1
import glob, json, sys
results = glob.glob(sys.argv[1] + "/trials/*/result.json")
if not results: sys.exit("gpu_check: the benchmark left no result")
for path in sorted(results):
    r = json.load(open(path))
    s = r["step"]
    print(json.dumps({"bench": "gpt2-124m", "precision": "bf16", "micro_batch": 16, "seq_len": 1024, "device": r["device"],
                      "step_ms": s["median_ms"], "tokens_per_s": s["per_s"], "mfu": s.get("mfu"),
                      "mfu_measured": s.get("mfu_measured"), "measured_peak_tflops": r.get("measured_peak_tflops"),
                      "peak_device_mb": [x.get("peak_device_mb") for x in r["ranks"]]}))
END
[ $failed = 0 ] && echo "gpu_check: all passed"
exit $failed

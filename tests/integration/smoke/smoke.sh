#!/usr/bin/env bash
# smoke.sh CONFIG: runs configs/CONFIG.yaml through all its stages, as a user would, and looks at what is left.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "smoke: $*" >&2; exit 1; }

# Other tests may use the cores: OpenMP's threads would spin waiting for each other, and steps wait for their data.
"$TRAINCTL_BIN" run "$TRAINCTL_SOURCE_DIR/configs/$1.yaml" --set run_dir="$work/run" --set launch.threads=1 \
  --set baseline.max_data_wait=1 --json >"$work/report.json" || fail "exit code $?"
python3 - "$work" "$1" <<'EOT'
import json, pathlib, struct, sys
work = pathlib.Path(sys.argv[1])
report = json.loads((work / "report.json").read_text())
assert report["schema"] == "trainctl.report/1", report["schema"]
assert json.loads((work / "run/report.json").read_text()) == report, "--json and report.json differ"
for stage in ("baseline", "train"):
    steps = [json.loads(line) for line in (work / f"run/trials/{stage}/metrics.jsonl").read_text().splitlines()]
    assert steps[0]["step"] == 0 and steps[0]["loss"] > 0, (stage, steps[0])
with open(work / "run/model.safetensors", "rb") as f:
    size, = struct.unpack("<Q", f.read(8))
    names = [n for n in json.loads(f.read(size)) if n != "__metadata__"]
if any(n in sys.argv[2] for n in ("gpt2", "llama")):
    assert json.loads((work / "run/config.json").read_text())["model_type"] in sys.argv[2], "config.json"
print(f"smoke: {len(steps)} steps, {len(names)} tensors saved")
assert names
EOT

#!/usr/bin/env bash
# Measures trainctl beside its peers: scripts/bench.sh NAME [options]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOT'
Usage: scripts/bench.sh NAME [--quick] [--rounds N] [--only TEXT] [--list]

Runs scripts/bench/NAME.py: both sides in turn, several processes each, medians.  Standard output holds one JSON object a
line (bench, metric, unit, trainctl, peer, peer_name, ratio, runs, spread, target, met); progress goes to standard error.

  --quick       one short round: shows that everything runs, measures nothing
  --rounds N    processes of each side (default 5)
  --only TEXT   only the metrics with TEXT in their name
  --list        names the metrics, runs nothing
  TRAINCTL_BIN=FILE      the binary (default build/release/bin/trainctl)
  TRAINCTL_ORACLE=FILE   the Python with PyTorch (default .deps/oracle/bin/python; scripts/setup.sh --oracle installs it)

Needs an otherwise idle machine; a line on standard error says so where it is not.
EOT
  local names=''
  for file in scripts/bench/*.py; do
    [ "$file" = scripts/bench/measure.py ] || names+=" $(basename "$file" .py)"
  done
  echo "Benches:$names"
}

case "${1:-}" in
  '') usage >&2; exit 2 ;;
  -h | --help) usage; exit ;;
esac
script=scripts/bench/$1.py
if [ "$1" = measure ] || [ ! -f "$script" ]; then
  echo "bench.sh: there is no bench \`$1\`" >&2
  usage >&2
  exit 2
fi
export TRAINCTL_BIN=${TRAINCTL_BIN:-$PWD/build/release/bin/trainctl}
if [ ! -x "$TRAINCTL_BIN" ]; then
  echo "bench.sh: $TRAINCTL_BIN is not there; build it, or set TRAINCTL_BIN" >&2
  exit 3
fi
shift
exec python3 "$script" "$@"

#!/usr/bin/env bash
# From a bare machine to a trained model: sets up what is missing, builds, fetches the text, trains on it with two processes.
# Options go to scripts/setup.sh (--cpu, --cuda).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

case "${1:-}" in
  -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;;
esac
scripts/setup.sh "$@"
scripts/fetch_shakespeare.sh
build release trainctl_programs
exec build/release/bin/trainctl run configs/quickstart.yaml --new

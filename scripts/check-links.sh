#!/usr/bin/env bash
# Checks the documents: each relative link leads to a file and, behind a #, to a heading that
# exist, and each document can be reached from README.md.
set -euo pipefail

cd "$(dirname "$0")/.."
failed=0

complain() {
	echo "check-links.sh: $1" >&2
	failed=1
}

# prose prints a document without its blocks of code.
prose() { awk '/^ *```/ { code = !code; next } !code' "$1"; }

# links prints the targets of the relative links of a document.
links() {
	prose "$1" | sed 's/`[^`]*`//g' | { grep -oE '\]\([^)[:space:]]+\)' || true; } |
		sed -E 's/^\]\(//; s/\)$//' | { grep -vE '^[a-z][a-z0-9+.-]*:' || true; }
}

# anchors prints the headings of a document as links name them.
anchors() {
	prose "$1" | sed -nE 's/^#+ +//p' | tr '[:upper:]' '[:lower:]' |
		sed -E 's/[^[:alnum:] _-]//g; s/ /-/g'
}

# reached is the list of documents that have been visited, a line each.
reached=

is_reached() { grep -qxF -- "$1" <<<"$reached"; }

# from_top prints a path that is relative to a document as one that is relative to the top folder.
from_top() {
	local folder
	folder=$(cd "$(dirname "$1")" && cd "$(dirname "$2")" 2>/dev/null && pwd) || return 0
	folder=$folder/
	printf '%s\n' "${folder#"$PWD"/}$(basename "$2")"
}

# visit follows the links of a document.
visit() {
	local document=$1 target file anchor
	reached+=$document$'\n'
	while IFS= read -r target; do
		file=${target%%#*}
		anchor=
		[[ $target == *#* ]] && anchor=${target#*#}
		if [ -z "$file" ]; then
			file=$document
		else
			file=$(from_top "$document" "$file")
		fi
		if [[ $file == /* ]]; then
			complain "$document: ($target) leads out of the repository"
		elif [ ! -e "$file" ]; then
			complain "$document: ($target) leads nowhere"
		elif [ -n "$anchor" ] && ! anchors "$file" | grep -xF -- "$anchor" >/dev/null; then
			complain "$document: ($target): there is no such heading"
		elif [[ $file == *.md ]] && ! is_reached "$file"; then
			visit "$file"
		fi
	done < <(links "$document")
}

visit README.md
while IFS= read -r document; do
	if ! is_reached "$document"; then
		complain "$document cannot be reached from README.md"
	fi
done < <(find . -name '*.md' -not -path './.git/*' -not -path './bin/*' | sed 's,^\./,,' | sort)
exit "$failed"

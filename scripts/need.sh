#!/usr/bin/env bash
# Makes sure that a command is there.
#
#   scripts/need.sh COMMAND PACKAGE...
#
# If COMMAND is missing, the Debian packages are installed with apt-get: as root, or with a sudo that
# needs no password, after asking. With CI=true or LEASEHOLD_INSTALL=yes nobody is asked; with
# LEASEHOLD_INSTALL=no nothing is installed. Otherwise the script says which packages are missing, and fails.
# A command that may be in a folder outside of PATH has that folder in front, as in
# '/usr/lib/postgresql/*/bin/postgres': it is looked for in both.
set -euo pipefail

if [ $# -lt 2 ]; then
	echo "need.sh: the form is scripts/need.sh COMMAND PACKAGE..." >&2
	exit 64
fi
command=$1
shift

# found tells whether the command is there. Only a path is looked for among the files: this repository has a folder etcd.
found() { command -v "${command##*/}" >/dev/null || { [[ $command == */* ]] && compgen -G "$command" >/dev/null; }; }

if found; then
	exit 0
fi

missing() {
	echo "need.sh: $command is missing, and $1: install the package(s) $packages, or what your system calls them" >&2
	exit 1
}
packages=$*

command -v apt-get >/dev/null || missing "there is no apt-get here"
[ "${LEASEHOLD_INSTALL:-}" != no ] || missing "LEASEHOLD_INSTALL=no"
as_root=()
if [ "$(id -u)" != 0 ]; then
	if [ "${CI:-}" != true ] && [ "${LEASEHOLD_INSTALL:-}" != yes ]; then
		[ -t 0 ] || missing "nobody can be asked whether to install it with sudo (LEASEHOLD_INSTALL=yes says that it may be)"
		read -rp "need.sh: $command is missing: install $packages with sudo apt-get? [y/N] " answer
		[[ $answer == [yY]* ]] || missing "it was not to be installed"
	fi
	sudo -n true 2>/dev/null || missing "installing it takes a password"
	as_root=(sudo -n)
fi

echo "need.sh: $command is missing: installing $packages with apt-get" >&2
{
	"${as_root[@]}" apt-get update -qq &&
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@"
} </dev/null >&2 || missing "apt-get could not install it"

hash -r
found || missing "it is not in what apt-get has installed"

#!/usr/bin/env bash
# Builds an etcd server, for tests against a newer one than the system has.
#
#   scripts/build-etcd.sh VERSION [FOLDER]
#
# VERSION is one of those whose modules are in internal/etcdserver/build, such as 3.6.6 or just 3.6. The
# program is FOLDER/etcd, where FOLDER is bin/servers/etcd-VERSION if it is not given. It takes some minutes
# the first time, and nothing if FOLDER has it already. Tests use what is first in PATH:
#
#   scripts/build-etcd.sh 3.6.6 && PATH="$PWD/bin/servers/etcd-3.6.6:$PATH" go test ./etcd
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "build-etcd.sh: the form is scripts/build-etcd.sh VERSION [FOLDER]" >&2
	exit 64
fi
version=${1#v}
module=$top/internal/etcdserver/build/v$(cut -d . -f 1,2 <<<"$version")
has=$(sed -nE 's#.*go\.etcd\.io/etcd/server/v3 v([^ ]+).*#\1#p' "$module/go.mod" 2>/dev/null || true)
case $has in
"$version" | "$version".*) version=$has ;;
*)
	echo "build-etcd.sh: there is no etcd $version here, but these: $(sed -nE 's#.*go\.etcd\.io/etcd/server/v3 v([^ ]+).*#\1#p' "$top"/internal/etcdserver/build/*/go.mod | xargs)" >&2
	exit 64
	;;
esac
folder=${2:-$top/bin/servers/etcd-$version}
mkdir -p "$folder"
program=$(cd "$folder" && pwd)/etcd

if "$program" --version 2>/dev/null | grep -qxF "etcd Version: $version"; then
	exit 0
fi
GOWORK=off go -C "$module" build -ldflags "-s -w" -o "$program.new.$$" .
mv "$program.new.$$" "$program" # at once, also beside another build
"$program" --version | sed -n 1p # which reads to the end

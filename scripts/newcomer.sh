#!/usr/bin/env bash
# Follows README.md on a new machine: a minimal Debian, as a user with an empty home folder, with only the packages and the Go that README.md names. Runs
# its first command, installs, runs and removes the command, and says how long that took and how much disk.
#
#   scripts/newcomer.sh          # with empty caches, so Go downloads and compiles everything
#   scripts/newcomer.sh --warm   # with the caches of this machine
#
# It takes root and debootstrap, and follows the last commit. The Debian is kept in the cache folder of the user.
set -euo pipefail

cd "$(dirname "$0")/.."
warm=${1:-}
fail() {
	echo "newcomer.sh: $1" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || fail "it takes root, to make a Debian in a folder"
scripts/need.sh debootstrap debootstrap
export PATH=$PATH:/usr/sbin:/sbin

# block prints the first block of commands in README.md with a text in it.
block() {
	awk -v text="$1" '/^```/ { if (on && index(code, text)) { printf "%s", code; exit }; on = /^```sh$/; code = ""; next } on { code = code $0 "\n" }' \
		README.md | grep . || fail "README.md has no commands with \"$1\""
}

# The packages that README.md names.
packages=$(grep -oE 'apt-get install [a-z -]+' README.md | head -1 | cut -d ' ' -f 3-)
[ -n "$packages" ] || fail "README.md does not say what a bare Debian needs"
first=$(block 'cmd/leasehold run hello')
install=$(block 'go install ')
remove=$(block 'rm ')

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leasehold
base=$cache/$release.tar
work=$(mktemp -d)
# Whatever is mounted below is mounted in a namespace that ends with its processes: nothing else is removed here.
trap 'rm -rf "$work"' EXIT
if [ ! -f "$base" ]; then
	mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $release" | head -1)
	mkdir -p "$cache"
	debootstrap --variant=minbase "$release" "$work/base" "$mirror" >"$work/log" || fail "debootstrap failed: $(tail -3 "$work/log")"
	rm -rf "$work"/base/var/cache/apt/archives/*.deb
	tar -C "$work/base" -cf "$base.new" .
	mv "$base.new" "$base"
	rm -rf "$work/base"
fi

root=$work/root
home=$root/home/newcomer
mkdir -p "$home" "$root/usr/local"
tar -C "$root" -xf "$base"
cp /etc/resolv.conf "$root/etc/"
cp -a "$(go env GOROOT)" "$root/usr/local/go"
git clone -q --no-hardlinks "file://$PWD" "$home/leasehold"
# Certificates that this machine trusts besides those of Debian.
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
caches=()
if [ "$warm" = --warm ]; then
	caches=("$(go env GOMODCACHE)" "$(go env GOCACHE)")
fi

cat >"$root/follow.sh" <<END
set -eu
seconds() { date +%s; }
say() { echo "newcomer: \$*"; }
go=/usr/local/go/bin/go
cd /home/newcomer/leasehold
began=\$(seconds)
shown=\$($first)
echo "\$shown"
case \$shown in "token "[0-9]*) ;; *) say "the first command shows something else" >&2; exit 1 ;; esac
times >/tmp/times
say "the first run took \$((\$(seconds) - began)) s; user and system time: \$(tail -1 /tmp/times); again:"
began=\$(seconds)
$first
say "the second run took \$((\$(seconds) - began)) s"
$install
command=\$(go env GOPATH)/bin/leasehold
say "the command has \$((\$(stat -c %s "\$command") / 1000000)) MB"
say "downloads and compiled packages have \$(du -sm "\$(go env GOMODCACHE)" "\$(go env GOCACHE)" | awk '{ sum += \$1 } END { print sum }') MB"
PATH=\$PATH:\$(go env GOPATH)/bin
cd
leasehold run nightly -- true
leasehold ls
leasehold version
$remove
[ ! -e "\$command" ] || { say "\$command is still there" >&2; exit 1; }
left=\$(find /home/newcomer -path /home/newcomer/leasehold -prune -o -path /home/newcomer/go -prune -o -path /home/newcomer/.cache -prune -o \( -iname '*leasehold*' -print \))
[ -z "\$left" ] || { say "left behind: \$left" >&2; exit 1; }
say "removed"
END

cat >"$work/inside.sh" <<'END'
set -eu
root=$1 packages=$2
shift 2
mount -t proc proc "$root/proc"
mount -t devpts devpts "$root/dev/pts"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
chroot "$root" apt-get update -qq
# shellcheck disable=SC2086 # these are several words
chroot "$root" apt-get install -qq -y --no-install-recommends $packages >/dev/null
chroot "$root" update-ca-certificates >/dev/null 2>&1
chroot "$root" useradd --create-home --shell /bin/bash newcomer 2>/dev/null || true
settings=
for folder in "$@"; do
	mkdir -p "$root$folder"
	mount --bind "$folder" "$root$folder"
done
[ $# = 0 ] || settings="GOMODCACHE=$1 GOCACHE=$2"
if [ $# = 0 ]; then
	chroot "$root" chown -R newcomer: /home/newcomer
	as="--userspec=newcomer"
else
	as="--userspec=root" # the caches are those of root
	chroot "$root" chown -R root: /home/newcomer
fi
# shellcheck disable=SC2086
exec chroot $as "$root" /usr/bin/env -i HOME=/home/newcomer TERM=dumb PATH=/usr/local/go/bin:/usr/bin:/bin \
	$settings sh /follow.sh
END
unshare --mount --pid --fork --kill-child sh "$work/inside.sh" "$root" "$packages" "${caches[@]}"

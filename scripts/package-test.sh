#!/usr/bin/env bash
# Installs the packages that "make snapshot" has built in a Debian system of their own, a chroot, uses what is in them, and removes them: nothing may be
# left. The Debian system is made once, and kept in the user's cache folder (90 MB).
#
# Without root or debootstrap nothing is tested, which is said; with CI=true that is a failure.
set -euo pipefail

cd "$(dirname "$0")/.."
skip() {
	echo "package-test.sh: $1: the packages were not installed" >&2
	[ "${CI:-}" != true ] || exit 1
	exit 0
}
fail() {
	echo "package-test.sh: $1" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || skip "this takes root"
scripts/need.sh /usr/sbin/debootstrap debootstrap || skip "there is no debootstrap"
scripts/need.sh rpm rpm || skip "there is no rpm"
arch=$(dpkg --print-architecture)
deb=$(find bin/dist -name "*_$arch.deb" 2>/dev/null)
rpm=$(find bin/dist -name "*_$arch.rpm" 2>/dev/null)
[ -f "$deb" ] && [ -f "$rpm" ] || fail "there is no package for $arch in bin/dist: run make snapshot first"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=${XDG_CACHE_HOME:-$HOME/.cache}/leasehold/debian-12.tar
if [ ! -f "$base" ]; then
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | awk '$2 == "bookworm" { print $1; exit }')
	[ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
	[ -n "$mirror" ] || skip "apt has no mirror of Debian here"
	/usr/sbin/debootstrap --variant=minbase --include=man-db,systemd bookworm "$work/base" "$mirror" >"$work/log" 2>&1 ||
		{ tail -n 20 "$work/log" >&2 && skip "debootstrap failed"; }
	rm -rf "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/*
	mkdir -p "$(dirname "$base")"
	tar -C "$work/base" -cf "$base.new" .
	mv "$base.new" "$base"
fi

# inside runs a script in the chroot, in namespaces of its own: what it mounts or starts ends with it.
inside() { unshare --mount --pid --fork --mount-proc="$work/root/proc" chroot "$work/root" /bin/bash -euo pipefail "/test/$1"; }

mkdir -p "$work/root"
tar -C "$work/root" -xf "$base"
mkdir "$work/root/test"
cp scripts/package-test/*.sh "$work/root/test/"
cp "$deb" "$work/root/test/leasehold.deb"
inside deb.sh
echo "package-test.sh: $(basename "$deb") is fine"

# A Debian system cannot use a package of RPM in earnest, but rpm can install one in another folder.
cp "$rpm" "$work/root/test/leasehold.rpm"
diff <(dpkg-deb -c "$deb" | awk '$1 !~ /^d/ { print substr($6, 2) }' | sed s,vendor-completions,site-functions, | sort) \
	<(rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$rpm" | awk '$1 !~ /^d/ && $2 != "/usr/share/doc/leasehold/LICENSE" { print $2 }' | sort) || fail "the two packages have other files"
[ "$(rpm -qcp "$rpm")" = /etc/leasehold/config.toml ] || fail "the configuration files of the rpm are: $(rpm -qcp "$rpm")"
find "$work/root" -xdev | sort >"$work/before"
install() { rpm --force-debian --root "$work/root" --dbpath /test/rpm --nodeps "$@"; }
install -i "$work/root/test/leasehold.rpm"
inside rpm.sh
install -e leasehold
rm -rf "$work/root/test/rpm"
diff <(find "$work/root" -xdev | sort) "$work/before" || fail "the rpm leaves files behind"
echo "package-test.sh: $(basename "$rpm") is fine"

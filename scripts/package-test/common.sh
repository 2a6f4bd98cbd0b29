# What the tests of both packages check. It runs in the chroot.

fail() {
	echo "package-test: $1" >&2
	exit 1
}

# The command runs, and keeps a lock where it does by default.
check_command() {
	leasehold version | grep -qE '^leasehold v[0-9]+\.[0-9]+\.[0-9]+\S* [0-9a-f]{40} go' || fail "leasehold version says: $(leasehold version)"
	leasehold --version | grep -qx "$(leasehold version)" || fail "leasehold --version says: $(leasehold --version)"
	[ "$(HOME=/test leasehold run hello -- sh -c 'echo $LEASEHOLD_NAME')" = hello ] || fail "leasehold run does not work"
}

# The manual pages are there, one for each command, and can be shown.
check_manual() {
	local page name
	for name in run ls top doctor exporter; do
		[ -f "/usr/share/man/man1/leasehold-$name.1.gz" ] || fail "there is no page of leasehold $name"
	done
	for page in /usr/share/man/man[17]/leasehold*.gz; do
		MANWIDTH=80 man --warnings -l "$page" >/test/page 2>/test/warnings || fail "man cannot show $page"
		! grep -v 'cannot adjust line\|cannot break line' /test/warnings || fail "man warns of the above in $page"
		grep -q 'SEE ALSO\|DESCRIPTION' /test/page || fail "$page is empty"
	done
	MANWIDTH=80 man leasehold-run | grep -q 'Run a program while holding a lock' || fail "man leasehold-run is something else"
	MANWIDTH=80 man leasehold-engines | grep -q 'zookeeper' || fail "man leasehold-engines is something else"
}

# Nothing is set, and the unit is correct, and not enabled.
check_settings() {
	! grep -vE '^(#|$)' /etc/leasehold/config.toml || fail "config.toml sets the above"
	[ "$(stat -c '%U %a' /etc/leasehold/config.toml)" = "root 644" ] || fail "anybody may write config.toml, or not all read it"
	[ "$(systemctl is-enabled leasehold-exporter.service)" = disabled ] || fail "the exporter is enabled"
	systemd-analyze verify /usr/lib/systemd/system/leasehold-exporter.service || fail "systemd does not like the unit"
	bash -n /usr/share/bash-completion/completions/leasehold
	[ -s /usr/share/doc/leasehold/THIRD-PARTY-LICENSES ] || fail "the licences are missing"
}

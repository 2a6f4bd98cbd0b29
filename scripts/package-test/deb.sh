# Runs in the chroot: installs the Debian package, looks at it, upgrades it, removes it, and purges it.
. /test/common.sh

files() { find / -xdev \( -path /proc -o -path /test -o -path /run -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \) -prune -o -print | sort; }

files >/test/before
dpkg -i /test/leasehold.deb >/test/log 2>&1 || { cat /test/log && fail "dpkg cannot install it"; }
check_command
check_manual
check_settings

# What an administrator has written stays when the package is installed again, and when it is removed.
echo '# mine' >>/etc/leasehold/config.toml
dpkg -i /test/leasehold.deb >/test/log 2>&1 || { cat /test/log && fail "dpkg cannot install it again"; }
grep -qx '# mine' /etc/leasehold/config.toml || fail "an upgrade changes config.toml"
systemctl enable leasehold-exporter.service 2>/dev/null
dpkg -r leasehold >/test/log 2>&1 || { cat /test/log && fail "dpkg cannot remove it"; }
! command -v leasehold || fail "the command is still there"
grep -qx '# mine' /etc/leasehold/config.toml || fail "removing the package removes config.toml"

dpkg -P leasehold >/test/log 2>&1 || { cat /test/log && fail "dpkg cannot purge it"; }
diff /test/before <(files) || fail "the package leaves files behind"

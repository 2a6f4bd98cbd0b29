# Runs in the chroot: looks at what the package of RPM has installed there.
. /test/common.sh

check_command
check_manual
check_settings

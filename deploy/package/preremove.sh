#!/bin/sh
# Stops the exporter when the package goes, and not when another version comes. dpkg says "remove", rpm that none is left.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
if command -v systemctl >/dev/null; then
	systemctl --no-reload disable leasehold-exporter.service
	[ ! -d /run/systemd/system ] || systemctl stop leasehold-exporter.service
fi

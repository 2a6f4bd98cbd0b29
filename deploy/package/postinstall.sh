#!/bin/sh
# Tells systemd of the unit, which is not enabled: /etc/leasehold/exporter.env has to be written first.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
# After an upgrade, dpkg says the version that was there before, and rpm that two are installed.
case "$1/$2" in
configure/?* | 2/*) systemctl try-restart leasehold-exporter.service ;;
esac

#!/bin/sh
# Installs the Debian packages of tests/debian-packages.txt that are missing; without root it names them.
set -eu
missing=$(sed '/^#/d' "$(dirname "$0")/debian-packages.txt" | while read -r package file; do
    ls $file >/dev/null 2>&1 || command -v "$(basename "$file")" >/dev/null || echo "$package"
done)
[ -z "$missing" ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "tests that need them will be skipped; install as root: apt-get install" $missing >&2
    exit 0
fi
echo "installing Debian packages for tests:" $missing
apt-get update -qq
# The tests start servers of their own: none is to run beside them.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null

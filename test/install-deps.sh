#!/bin/sh
# Installs the servers that the tests start themselves, on ports of their own.
# Without root or apt it says what is missing and where to get it.
set -eu

missing=
need() { # need COMMAND PACKAGE
	PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need redis-server redis-server
need memcached memcached
need snmpd snmpd
need ipmi_sim openipmi
need nginx nginx-light
need iperf3 iperf3
need ip iproute2
need ethtool ethtool
need mariadbd mariadb-server
need cc gcc # of the tests with the build tag sqlite_c
[ -e /usr/include/stdlib.h ] || missing="$missing libc6-dev"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || need postgres postgresql

[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "make test: these Debian packages are missing:$missing" >&2
	echo "Install them (on Debian, as root: apt-get install$missing) and run it again." >&2
	exit 1
fi

# Debian starts a service when its package is installed; the tests start their
# own, so a policy file keeps the packages from doing so.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' > "$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null

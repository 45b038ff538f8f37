#!/bin/sh
# Runs deploy/quickstart.sh in a debootstrap root: a minimal Debian 12 with a clean checkout of the
# current commit. Needs root and removes everything afterwards. Exit code 77 means skipped.
set -eu
cd "$(dirname "$0")/../../.."

[ -e .git ] || {
  echo "SKIPPED: this is no git checkout to copy from"
  exit 77
}
# Uses the machine's own proxy, from apt's configuration or the environment.
apt_proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
export http_proxy="${http_proxy:-$apt_proxy}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}"

root=$(mktemp -d)
trap 'rm -rf --one-file-system -- "$root"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
tests/support/debian_root.sh "$root"
git clone --quiet --no-hardlinks . "$root/root/penstock"

# The mounts and processes end with the namespace, so nothing has to be undone.
cat >"$root/root/inside" <<'END'
set -eu
cd /root/penstock
began=$(date +%s)
deploy/quickstart.sh --json >/root/result
echo "quickstart took $(($(date +%s) - began)) s; its result:"
cat /root/result
echo "sockets left: $(find /tmp /run -type s | wc -l)"
echo "shared memory left: $(find /dev/shm -type f | wc -l)"
for process in /proc/[0-9]*; do
  [ "$process" = "/proc/$$" ] || echo "process left: $(tr '\0' ' ' <"$process/cmdline")"
done
END
# shellcheck disable=SC2016
unshare --mount --propagation private --pid --fork --ipc sh -eu -c '
  mount -t proc proc "$1/proc"
  mount -t sysfs -o ro sysfs "$1/sys"
  mount --rbind /dev "$1/dev"
  mount -t tmpfs tmpfs "$1/dev/shm"
  exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    http_proxy="$http_proxy" https_proxy="$https_proxy" no_proxy="$no_proxy" sh /root/inside
' sh "$root" | tee "$root/root/said"

said=$root/root/said
tail -n 1 "$root/root/result" | grep -q '"samples": *200' || { echo "not 200 samples"; exit 1; }
tail -n 1 "$root/root/result" | grep -q '"quarantined": *0' || { echo "samples were quarantined"; exit 1; }
grep -q '^sockets left: 0$' "$said" || { echo "a socket was left"; exit 1; }
grep -q '^shared memory left: 0$' "$said" || { echo "shared memory was left"; exit 1; }
! grep '^process left: .' "$said" || { echo "a process was left"; exit 1; }
git -C "$root/root/penstock" diff --quiet || { echo "the checkout was changed"; exit 1; }
echo "passed"

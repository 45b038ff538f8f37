#!/bin/sh
# debian_root.sh FOLDER: creates a minimal Debian 12 in FOLDER, using this machine's mirror and
# proxy. Needs root and debootstrap. Exits with 77 if that is impossible on this machine.
set -eu

skip() {
  echo "SKIPPED: $1"
  exit 77
}
[ "$(id -u)" -eq 0 ] || skip "a fresh root is made by root only"
command -v debootstrap >/dev/null || skip "there is no debootstrap; deploy/install-deps.sh --packages"
root=$1

sources=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
  /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
mirror=$(echo "$sources" | grep -v '^#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ')
mirror=${mirror:-http://deb.debian.org/debian}
apt_proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
export http_proxy="${http_proxy:-$apt_proxy}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}"

echo "making a Debian 12 root from $mirror"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 5 "$root.log"
  rm -f -- "$root.log"
  echo "debootstrap failed; see above"
  exit 1
}
rm -f -- "$root.log"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
apt-config dump Acquire | grep -iE 'proxy|cainfo|verify' >"$root/etc/apt/apt.conf.d/99machine" || true

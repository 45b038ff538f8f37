#!/bin/sh
# Makes Debian packages from the build: penstock (the daemon), penstock-tools, libpenstock1,
# libpenstock-dev, and python3-penstock if build/venv has nanobind for Debian's Python. Their symbols, for
# backtraces, are in the packages of the folder dbgsym.
#   deploy/package.sh [--output DIR] [--revision N] [--no-build | --build DIR]
# --build DIR: pack the existing build in DIR instead of build/release.
# Packing one build twice gives the same bytes: file times are SOURCE_DATE_EPOCH or the commit's time.
# PENSTOCK_PACKAGES_MAINTAINER="NAME <ADDRESS>" sets the maintainer.
set -eu

fail() {
  echo "package: $1" >&2
  exit "${2:-1}"
}
usage="usage: deploy/package.sh [--output DIR] [--revision N] [--no-build | --build DIR]"

output=
revision=1
build=yes
built=
while [ $# -gt 0 ]; do
  case $1 in
    --output) [ $# -ge 2 ] || fail "--output needs a folder; $usage" 2; output=$2; shift ;;
    --revision) [ $# -ge 2 ] || fail "--revision needs a number; $usage" 2; revision=$2; shift ;;
    --no-build) build=no ;;
    --build) [ $# -ge 2 ] || fail "--build needs a folder; $usage" 2; build=no built=$(realpath -- "$2"); shift ;;
    *) fail "unknown argument '$1'; $usage" 2 ;;
  esac
  shift
done
case $revision in
  '' | *[!0-9.]*) fail "--revision: got '$revision', expected a number; $usage" 2 ;;
esac
here=$PWD
cd "$(dirname "$0")/.."
case $output in
  '') output=$PWD/build/packages ;;
  /*) ;;
  *) output=$here/$output ;;
esac

built=${built:-$PWD/build/release}

if [ $build = yes ]; then
  deploy/install-deps.sh --packages
  tests/python/venv.sh || echo "package: tests/python/venv.sh failed, so python3-penstock will be left out" >&2
  deploy/build.sh release packaged
fi
[ -x "$built/bin/penstockd" ] || fail "nothing is built in $built; run without --no-build"
for program in cpack dpkg-shlibdeps file readelf objcopy; do
  command -v $program >/dev/null || fail "$program is not installed; run deploy/install-deps.sh --packages"
done

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
umask 022
room=$(mktemp -d)
trap 'rm -rf -- "$room"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

set -- -D "CPACK_DEBIAN_PACKAGE_RELEASE=$revision"
[ -z "${PENSTOCK_PACKAGES_MAINTAINER:-}" ] ||
  set -- "$@" -D "CPACK_PACKAGE_CONTACT=$PENSTOCK_PACKAGES_MAINTAINER"
cpack --config "$built/CPackConfig.cmake" -B "$room" "$@" >"$room/log" 2>&1 || {
  cat "$room/log" >&2
  fail "cpack failed; its output is above"
}
mkdir -p "$output"
mkdir -p "$output/dbgsym"
mv "$room"/*.deb "$output/"
mv "$room"/dbgsym/*.deb "$output/dbgsym/"
ls "$output"/python3-penstock_*"-${revision}_"*.deb >/dev/null 2>&1 ||
  echo "package: python3-penstock is left out: $built has no extension for Debian's Python;" \
    "run tests/python/venv.sh, then build again" >&2
(cd "$output" && ls -sh -- *"-${revision}_"*.deb)

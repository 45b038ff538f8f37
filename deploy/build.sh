#!/bin/sh
# Configures and builds one preset of CMakePresets.json:
#   deploy/build.sh [-DNAME=VALUE]... PRESET [TARGET]...
# Each NAME=VALUE goes to CMake, and stays set in build/PRESET until it is given again.
# All output goes to standard error. If that is not a terminal, only errors are printed.
set -eu
cd "$(dirname "$0")/.."

settings=
while [ $# -ge 1 ]; do
  case $1 in
    -D?*=*) settings="$settings $1" ;;
    *) break ;;
  esac
  shift
done
[ $# -ge 1 ] || {
  echo "build: missing preset; usage: deploy/build.sh [-DNAME=VALUE]... PRESET [TARGET]... (cmake --list-presets lists presets)" >&2
  exit 2
}
preset=$1
shift

# Lets ccache share objects between checkouts of the same sources.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
if [ -z "${CCACHE_DIR:-}" ] && ! mkdir -p "${XDG_CACHE_HOME:-${HOME:-/dev/null}/.cache}/ccache" 2>/dev/null; then
  export CCACHE_DIR="$PWD/build/ccache"
fi

mkdir -p build
log=build/configure-$preset.log
# shellcheck disable=SC2086
cmake --preset "$preset" $settings >"$log" 2>&1 || {
  cat "$log" >&2
  echo "build: cmake --preset $preset failed; its output is above" >&2
  exit 1
}
grep '^-- CUDA:' "$log" >&2 || true

quiet=--quiet
[ ! -t 2 ] || quiet=
# shellcheck disable=SC2086
ninja -C "build/$preset" -j "$(nproc)" $quiet "$@" >&2 || {
  echo "build: compiling preset $preset failed; the errors are above" >&2
  exit 1
}

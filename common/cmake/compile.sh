#!/bin/sh
# Runs a compiler through ccache, which then finds what another checkout compiled: compile.sh ccache
# COMPILER ARGUMENT... CMake's units of unity builds include their files by absolute paths. They are
# compiled from a copy beside them, whose paths are relative to the checkout if that is among the
# folders for headers, else to the unit.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd -P)
export CCACHE_SLOPPINESS=pch_defines,time_macros

case " $* " in
  *" -I$root "*) from=root ;;
  *) from=unit ;;
esac
for argument; do
  shift
  case $argument in
    "$root"/*/Unity/unity_*_cxx.cxx)
      up=
      [ $from = root ] || up=$(dirname "${argument#"$root"/}" | sed 's|[^/]*|..|g')/
      copy=${argument%.cxx}.relative.cxx
      sed "s|^#include \"$root/|#include \"$up|" "$argument" >"$copy"
      argument=$copy
      ;;
  esac
  set -- "$@" "$argument"
done
exec "$@"

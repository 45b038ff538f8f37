#!/bin/sh
# Runs a compiler through ccache, which then finds what another checkout compiled: compile.sh ccache
# COMPILER ARGUMENT... CMake's units of unity builds include their files by absolute paths. They are
# compiled from a copy beside them whose paths are relative.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd -P)
export CCACHE_SLOPPINESS=pch_defines,time_macros

for argument; do
  shift
  case $argument in
    "$root"/*/Unity/unity_*_cxx.cxx)
      folder=${argument#"$root"/}
      up=$(dirname "$folder" | sed 's|[^/]*|..|g')
      copy=${argument%.cxx}.relative.cxx
      sed "s|^#include \"$root/|#include \"$up/|" "$argument" >"$copy"
      argument=$copy
      ;;
  esac
  set -- "$@" "$argument"
done
exec "$@"

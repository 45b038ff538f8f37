#!/bin/bash
# Runs the tests that need a GPU, from a bundle or a build tree, and ends with a short table.
#   tests/gpu/run.sh [PROGRAM]...     all of bin/*_gpu_test, or only the given programs
# SECONDS_EACH (default 300) limits each program.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/bin
[ -d "$bin" ] || bin=$root/build/release/bin
[ -d "$bin" ] || { echo "tests/gpu/run.sh: neither a bundle nor a build: no $bin" >&2; exit 2; }

if [ $# -eq 0 ]; then
  for path in "$bin"/*_gpu_test; do set -- "$@" "$(basename "$path")"; done
fi

room=$(mktemp -d)
trap 'rm -rf -- "$room"' EXIT
count() { grep -cE "$1" "$log" || true; }

failed=0
table=
for program; do
  log=$room/$program
  [ -x "$bin/$program" ] || { echo "tests/gpu/run.sh: no $bin/$program" >&2; exit 2; }
  began=$(date +%s.%N)
  timeout --kill-after=10 "${SECONDS_EACH:-300}" "$bin/$program" >"$log" 2>&1
  status=$?
  took=$(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $began }")
  grep -vE '^\[ (RUN|     OK) |^\[(-|=)+\]|^$|^Note: ' "$log"
  table+=$(printf '%-28s exit %-3d passed %-4d failed %-3d skipped %-3d %6s s' "$program" "$status" \
    "$(count '^\[       OK \] .*\(')" "$(count '^\[  FAILED  \] .*\(')" \
    "$(count '^\[  SKIPPED \] .*\(')" "$took")$'\n'
  [ $status -eq 0 ] || failed=1
done

printf '\n%s' "$table"
exit $failed

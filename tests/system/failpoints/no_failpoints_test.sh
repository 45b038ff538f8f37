#!/bin/sh
# The programs that users run have no failpoints: neither their list nor the variable that sets them.
set -eu
for program; do
  if grep -q -e PENSTOCK_FAILPOINTS -e penstock_failpoints "$program"; then
    echo "$program has failpoints" >&2
    exit 1
  fi
done

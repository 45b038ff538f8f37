#!/bin/bash
# Runs the tests that measure GPU delivery, from a bundle or a build tree, and prints a Markdown report:
# the machine, each limit with figure, ceiling and ratio, and the programs' complete output. Every
# figure comes from a program's output.
#   tests/gpu/report.sh > REPORT.md
# PENSTOCK_CYCLES (default 1000000) applies to the last program; SECONDS_EACH (default 1200) limits each.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/bin
[ -d "$bin" ] || bin=$root/build/release/bin
[ -d "$bin" ] || { echo "tests/gpu/report.sh: neither a bundle nor a build: no $bin" >&2; exit 2; }
export PENSTOCK_CYCLES=${PENSTOCK_CYCLES:-1000000}

room=$(mktemp -d)
trap 'rm -rf -- "$room"' EXIT

# measure PROGRAM FILTER: runs the program's matching tests and stores the output in $room/PROGRAM.
failed=0
commands=
details=
measure() {
  local program=$1 filter=$2 status began took
  echo "$program ..." >&2
  began=$(date +%s)
  timeout --kill-after=10 "${SECONDS_EACH:-1200}" "$bin/$program" --gtest_filter="$filter" \
    >"$room/$program" 2>&1
  status=$?
  took=$(($(date +%s) - began))
  [ $status -eq 0 ] || failed=1
  commands+="bin/$program --gtest_filter='$filter'    # exit $status, $took s"$'\n'
  # shellcheck disable=SC2016
  details+=$(printf '\n### %s\n```\n%s\n```' "$program" "$(grep -vE \
    '^\[ (RUN|     OK) |^\[(-|=)+\]|^$|^Note: |^\| ' "$room/$program")")$'\n'
}
measure limits_gpu_test '*'
measure delivery_gpu_test '*TakeFinishAndReleaseCostTheHostMicroseconds/device'
measure finish_bandwidth_gpu_test '*'
measure copier_gpu_test '*NearlyAsFastAsTheMachineCan'
before=$failed failed=0
measure delivery_failure_gpu_test '*TakingAndReleasingLeavesNothingBehind*'
growth=$([ $failed -eq 0 ] && echo reached || echo MISSED)
failed=$((before | failed))

# Prints the table's rows from the programs' output.
rows() {
  grep -h '^| ' "$room/limits_gpu_test"
  awk -F'[ ,:]+' '/^copier: / {
    ratio = $9; gsub(/[()]/, "", ratio)
    printf "| the copier by itself, batches of 38.5 MB | %s GB/s | %s GB/s plain pinned | %s | >= 0.95 | %s |\n",
      $2, $5, ratio, (ratio >= 0.95 ? "reached" : "MISSED") }' "$room/copier_gpu_test"
  awk '/^device: take \+ finish/ {
    match($0, /median [0-9.]+/); median = substr($0, RSTART + 7, RLENGTH - 7)
    printf "| take + finish + release of a ready batch, median host time | %s us | | | <= 8 us | %s |\n",
      median, (median + 0 <= 8 ? "reached" : "MISSED") }' "$room/delivery_gpu_test"
  awk '/^copy on the device / { ceiling = $(NF - 1) }
    / 0\.60 (reached|MISSED)$/ { name = substr($0, 1, 30); sub(/ +$/, "", name)
      printf "| finish, %s | %s TB/s | %s TB/s copy on the device | %s | >= 0.60 | %s |\n",
        name, $(NF - 4), ceiling, $(NF - 3), $NF }' "$room/finish_bandwidth_gpu_test"
  awk -v verdict="$growth" '/ cycles; device memory / {
    kind = $1; sub(/:$/, "", kind); growth = $0; sub(/^[^;]*; /, "", growth)
    printf "| growth over %s cycles, %s | %s | | | none | %s |\n", $2, kind, growth, verdict }' \
    "$room/delivery_failure_gpu_test"
}
version() {
  cat "$root/VERSION" 2>/dev/null || git -C "$root" describe --always --dirty 2>/dev/null ||
    echo "not known"
}
gpu() {
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed 1q | grep . ||
    sed -n 's/^NVRM version: *//p' /proc/driver/nvidia/version 2>/dev/null
}

cat <<END
# GPU delivery: what was measured
| what | |
|---|---|
| date | $(date -u +%Y-%m-%dT%H:%MZ) |
| version | $(version) |
| GPU, driver | $(gpu | paste -sd';') |
| CUDA | $(grep -hm1 -i 'driver' "$room/limits_gpu_test") |
| processor | $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores |
| system | $(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r) |

| limit | figure | ceiling | ratio | goal | |
|---|---|---|---|---|---|
$(rows)

"Feed decoding": every batch is decoded meanwhile, on all cores but one. "Feed decoded before": a
session holds 256 batches in the pool, so that only the copies bound it. Both are taken by sessions
of both kinds of handle, which share no device memory: each batch is copied twice. A trainer's
kernels are back to back, 0.2 ms each, computing without memory. Medians of alternating runs, with
the ceilings in the same run.

## Commands
\`PENSTOCK_CYCLES=$PENSTOCK_CYCLES tests/gpu/report.sh\` runs
\`\`\`
$commands\`\`\`

## What they printed
$details
END
exit $failed

#!/bin/sh
# Installs what the tests need, builds, runs the tests, and reports what was skipped and why.
#   tests/run.sh          all but the slow tests, built as for users
#   tests/run.sh LABEL    the tests with a label: unit, contract, system, slow
#   tests/run.sh asan     all but the slow tests, under AddressSanitizer and UBSan
#   tests/run.sh tsan     the tests labelled tsan, under ThreadSanitizer
#   tests/run.sh soak     a daemon under random faults for ten minutes, or $PENSTOCK_SOAK_SECONDS
#   tests/run.sh failpoints  the daemon is killed at each of its failpoints; part of slow
#   tests/run.sh fuzz     a minute of libFuzzer for each parser of external bytes
#   tests/run.sh no-cuda  all but the slow tests, built without CUDA and our Huffman decoder
#   tests/run.sh no-unity compiles each file alone, without precompiled headers, so that missing
#                         includes show; then runs the label unit
#   tests/run.sh lint     checks that read the sources and run nothing; lint-all adds clang-tidy for
#                         every file
# Compiler warnings are errors, of g++ and (asan) of clang, with its analysis of thread safety.
# PENSTOCK_TEST_DATA=DIR (with imagenet-sample/ in it) adds the tests on real photographs.
set -eu
cd "$(dirname "$0")/.."

label=${1:-}
case $label in
  -*) set -- too many ;;
esac
[ $# -le 1 ] || {
  echo "tests/run.sh: at most one label; usage: tests/run.sh [unit|contract|system|slow|soak|failpoints|asan|tsan|fuzz|no-cuda|no-unity|lint|lint-all]" >&2
  exit 2
}

case $label in
  lint | lint-all)
    deploy/install-deps.sh --lint
    [ "$label" = lint ] || set -- all
    [ "$label" = lint-all ] || set --
    exec tests/lint/run.sh "$@"
    ;;
esac

preset=release
targets=all
select="-LE ^(slow|soak)$"
needs=--tests
# g++ 12's sanitizers crash at start if the kernel randomises addresses too far.
fixed_addresses=
strict=
case $label in
  '') ;;
  no-cuda) preset=no-cuda ;;
  asan)
    preset=asan
    needs=--fuzz
    ;;
  failpoints)
    preset=failpoints
    targets=failpoints_test
    select="-R ^failpoints_ -LE ^gpu$"
    ;;
  no-unity)
    preset=no-unity
    select="-L ^unit$"
    ;;
  tsan)
    preset=tsan
    targets=tsan_tests
    select="-L ^tsan$ -LE ^(slow|soak)$"
    ;;
  fuzz)
    preset=fuzz
    targets=fuzz_targets
    select="-L ^fuzz$"
    needs=--fuzz
    ;;
  slow)
    select="-L ^slow$"
    needs="--tests --packages"
    ;;
  *) select="-L ^$label$" ;;
esac
case $preset in
  asan | tsan | fuzz) fixed_addresses="setarch -R" ;;
esac
case $preset in
  asan | release) strict=-DCMAKE_COMPILE_WARNING_AS_ERROR=ON ;;
esac

# shellcheck disable=SC2086
deploy/install-deps.sh $needs
[ -n "$fixed_addresses" ] || tests/python/venv.sh
began=$(date +%s)
# shellcheck disable=SC2086
$fixed_addresses deploy/build.sh $strict "$preset" $targets
built=$(date +%s)

# Many tests mostly wait, so one more runs at a time than there are cores. Under a sanitizer they
# are busy.
at_once=$(nproc)
[ -n "$fixed_addresses" ] || at_once=$((at_once + 1))
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
# A test that measures time may fail on a busy machine, so each test gets a second chance. Those that
# needed it are listed below. A crash or a sanitizer's report never passes.
failed=0
log=build/$preset/ctest.log
# shellcheck disable=SC2086
$fixed_addresses ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
  --repeat until-pass:2 --output-log "$log" -j $at_once $select || failed=1
if grep -qE '\*\*\*Exception|SUMMARY: [A-Za-z]+Sanitizer|: runtime error: ' "$log"; then
  echo "tests/run.sh: a test crashed, or a sanitizer reported: see $log" >&2
  failed=1
fi

echo
echo "tests/run.sh ${label:-(all but slow)}: build $((built - began)) s, tests $(($(date +%s) - built)) s"
python3 tests/support/skipped.py "build/$preset/Testing/Temporary/LastTest.log"
if [ "${select#-LE}" != "$select" ]; then
  ctest --test-dir "build/$preset" -N -L '^slow$' |
    sed -n 's/^ *Test *#[0-9]*: /left out, being slow (tests\/run.sh slow): /p'
fi
[ "$label" != slow ] || tests/run.sh failpoints || failed=1
exit $failed

#!/bin/bash
# From a fresh checkout to one fed epoch: installs missing packages, builds, starts a private daemon,
# feeds one epoch to the example trainer, reports the result, and stops everything.
#   deploy/quickstart.sh [--data DIR] [--workers N] [--seed N] [--json]
# --data DIR    folder of JPEG photographs, one sub-folder for each class (default: generated ones)
# --workers N   number of decoding processes (default: half of the cores)
# --seed N      seed of the order and of the random crops and flips (default 0)
# --json        print the result as one JSON object on the last line of standard output, and everything
#               else on standard error
set -eu

usage_error() {
  echo "quickstart: $1; usage: deploy/quickstart.sh [--data DIR] [--workers N] [--seed N] [--json]" >&2
  exit 2
}

fail() {
  echo "quickstart: $1" >&2
  exit 1
}

whole_number() {  # NAME VALUE LOWEST
  [[ $2 =~ ^[0-9]{1,18}$ && $((10#$2)) -ge $3 ]] ||
    usage_error "$1: got '$2', expected a whole number of at least $3"
}

data=
workers=
seed=0
json=
while [ $# -gt 0 ]; do
  case $1 in
    --json) json=--json && shift && continue ;;
    --data | --workers | --seed) [ $# -ge 2 ] || usage_error "$1 needs a value" ;;
    *) usage_error "unknown argument '$1'" ;;
  esac
  case $1 in
    --data)
      [ -d "$2" ] || usage_error "--data: got '$2', expected a folder with one sub-folder for each class"
      data=$(cd -- "$2" && pwd) || usage_error "--data: no permission to enter '$2'"
      ;;
    --workers) whole_number "$1" "$2" 1 && workers=$2 ;;
    --seed) whole_number "$1" "$2" 0 && seed=$2 ;;
  esac
  shift 2
done
cd "$(dirname "$0")/.."
bin=$PWD/build/release/bin

if [ -n "$json" ]; then exec 3>&2; else exec 3>&1; fi
say() { echo "$@" >&3; }

# --- Cleaning up --------------------------------------------------------------------------------
room=    # temporary folder for the daemon's socket, state and log
daemon=  # process group of the daemon
task=    # process group of the command that runs now

# Ends a process group with SIGTERM, and after five seconds with SIGKILL. A new process may not have
# become a group yet.
stop() {
  local attempt
  kill -TERM -- "-$1" 2>/dev/null || kill -TERM "$1" 2>/dev/null || return 0
  for ((attempt = 0; attempt < 100; attempt++)); do
    kill -0 -- "-$1" 2>/dev/null || return 0
    sleep 0.05
  done
  kill -KILL -- "-$1" 2>/dev/null || true
}

clean_up() {
  trap '' INT TERM HUP
  if [ -n "$task" ]; then stop "$task"; fi
  if [ -n "$daemon" ]; then stop "$daemon"; fi
  wait 2>/dev/null || true
  if [ -n "$room" ]; then rm -rf -- "$room"; fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# Starts a command in a process group of its own, so that all its processes can be stopped, and sets
# `started` to the group. Job control could do the same, but would compete for the terminal.
start() {
  setsid "$@" </dev/null 3>&- &
  started=$!
}

# Runs a command to its end. Unlike in a plain call, a signal to this script takes effect at once.
run() {
  local status=0
  start "$@"
  task=$started
  wait "$task" || status=$?
  task=
  return "$status"
}

# --- The steps ----------------------------------------------------------------------------------
build() {
  local began=$SECONDS
  say "Building Penstock in build/release on $(nproc) cores (takes minutes the first time) ..."
  run deploy/build.sh release penstockd penstock-worker penstock-indexer penstockctl \
    penstock-example-epoch penstock-make-photographs || fail "the build failed; its output is above"
  say "Built in $((SECONDS - began)) s."
}

# Sets `data` to the generated photographs. They are kept in the cache folder if it is writable.
generate_data() {
  local cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/penstock/photographs
  data=$cache/v1
  if [ -d "$data" ]; then
    say "No --data: feeding the generated photographs in $data."
    return
  fi
  if ! mkdir -p "$cache" 2>/dev/null || ! [ -w "$cache" ]; then data=$room/photographs; fi
  say "No --data: generating 200 JPEGs that resemble photographs in $data."
  rm -rf -- "$data.new"
  run "$bin/penstock-make-photographs" "$data.new" || fail "photographs could not be generated"
  mv -T -- "$data.new" "$data"
}

start_daemon() {
  local attempt log=$room/log
  say "Starting a private daemon${workers:+ with $workers workers} ..."
  start "$bin/penstockd" --private "$room" ${workers:+--workers "$workers"} >"$log" 2>&1
  daemon=$started
  for ((attempt = 0; attempt < 200; attempt++)); do
    if [ -S "$socket" ] && "$bin/penstockctl" --address "$socket" status >/dev/null 2>&1; then return; fi
    if ! kill -0 "$daemon" 2>/dev/null; then break; fi
    sleep 0.05
  done
  tail -n 20 "$log" >&2
  fail "the daemon was not ready within 10 s; the end of its log is above"
}

explain() {
  say
  say "That was one epoch of $data"
  say "in batches of 32: shuffled with seed $seed, cropped at random to 224 x 224 and flipped at random."
  say "Worker processes decoded the images on the CPU. One trainer took the batches from shared memory"
  say "and did nothing else, so images/s is the rate of this machine at this moment. The SHA-256 covers"
  say "every byte that the trainer received. It depends only on the data and the seed, not on the"
  say "number of workers."
}

deploy/install-deps.sh
build
room=$(mktemp -d "${TMPDIR:-/tmp}/penstock.XXXXXX")
socket=$room/penstock.sock
[ -n "$data" ] || generate_data
start_daemon
say "Feeding one epoch to the example trainer ..."
run "$bin/penstock-example-epoch" --address "$socket" --data "$data" --seed "$seed" $json ||
  { tail -n 5 "$room/log" >&2 && fail "the trainer failed; its output and the end of the daemon's log are above"; }
explain

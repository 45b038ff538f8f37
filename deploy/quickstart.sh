#!/bin/bash
# From a fresh checkout to one fed epoch: installs what is missing, builds, starts a private daemon,
# feeds one epoch to the example trainer, says what happened, and leaves nothing running.
#   deploy/quickstart.sh [--data DIR] [--workers N] [--seed N] [--json]
# --data DIR: photographs (JPEG) in folders of classes; without it, generated ones. --json: the result
# as one object on the last line of standard output, everything else on standard error.
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
    usage_error "$1 wants a whole number of at least $3, got '$2'"
}

data=
workers=
seed=0
json=
while [ $# -gt 0 ]; do
  case $1 in
    --json) json=--json && shift && continue ;;
    --data | --workers | --seed) [ $# -ge 2 ] || usage_error "$1 wants a value" ;;
    *) usage_error "unknown argument '$1'" ;;
  esac
  case $1 in
    --data)
      [ -d "$2" ] || usage_error "--data wants a folder of classes, '$2' is none"
      data=$(cd -- "$2" && pwd) || usage_error "--data '$2' may not be entered"
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

# --- Leaving nothing behind ---------------------------------------------------------------------
room=    # a folder of our own: the daemon's socket, state and log
daemon=  # process group of the daemon
task=    # process group of whatever else runs now

# Ends a process group: asked, and after five seconds told. It may be so young that it is no group yet.
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

# Starts a command in a process group of its own, so that all of it can be stopped; `started` is the
# group. (Job control would do the same, but fights for the terminal.)
start() {
  setsid "$@" </dev/null 3>&- &
  started=$!
}

# Runs a command to its end. Unlike a plain call, a signal to this script is acted upon at once.
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
  say "Building Penstock in build/release on $(nproc) cores (minutes the first time) ..."
  run deploy/build.sh release penstockd penstock-worker penstockctl penstock-example-epoch \
    penstock-make-photographs || fail "the build failed; its messages are above"
  say "Built in $((SECONDS - began)) s."
}

# Sets `data` to the generated photographs; made once and kept, if there is a place to keep them.
generate_data() {
  local cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/penstock/photographs
  data=$cache/v1
  if [ -d "$data" ]; then
    say "No --data: feeding the generated photographs in $data."
    return
  fi
  if ! mkdir -p "$cache" 2>/dev/null || ! [ -w "$cache" ]; then data=$room/photographs; fi
  say "No --data: generating 200 photograph-like JPEGs in $data (nobody's pictures, only like them)."
  rm -rf -- "$data.new"
  run "$bin/penstock-make-photographs" "$data.new" || fail "no photographs could be generated"
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
  fail "the daemon was not ready within 10 s; what it said is above"
}

explain() {
  say
  say "That was one epoch of $data"
  say "in batches of 32: random crops of 224 by 224, flipped at random, shuffled by seed $seed, decoded"
  say "on the CPU by worker processes and taken from shared memory by one trainer that does nothing"
  say "else. images/s is this machine's, now. The SHA-256 is over every byte that the trainer got: the"
  say "same data and seed give the same one, however many workers there are."
}

deploy/install-deps.sh
build
room=$(mktemp -d "${TMPDIR:-/tmp}/penstock.XXXXXX")
socket=$room/penstock.sock
[ -n "$data" ] || generate_data
start_daemon
say "Feeding one epoch to the example trainer ..."
run "$bin/penstock-example-epoch" --address "$socket" --data "$data" --seed "$seed" $json ||
  { tail -n 5 "$room/log" >&2 && fail "the trainer failed; above is what it and the daemon said"; }
explain

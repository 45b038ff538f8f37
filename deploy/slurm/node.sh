#!/bin/bash
# Starts the ranks of one node; penstock.sbatch runs it on each. The ranks share a private daemon,
# which the first of them starts, and which ends when the last has gone.
set -euo pipefail

: "${SLURM_JOB_ID:?node.sh is started by srun; see penstock.sbatch}" "${PENSTOCK_RENDEZVOUS:?}"
disk=${PENSTOCK_LOCAL_DISK:-${TMPDIR:-/tmp}}

# A daemon of this job alone: another job of the same user may read with other keys. The socket's
# path must be short.
XDG_RUNTIME_DIR=$(mktemp -d "/tmp/penstock-job-$SLURM_JOB_ID-XXXXXX")
export XDG_RUNTIME_DIR
unset PENSTOCK_ADDRESS
trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT

# What was read once is read from the local disk when this user's next job is on this node. Only one
# daemon uses a folder at a time.
export PENSTOCK_STORE_CACHE=${PENSTOCK_STORE_CACHE:-$disk/penstock-cache-$(id -u)}
export PENSTOCK_STORE_CACHE_MAX=${PENSTOCK_STORE_CACHE_MAX:-200GiB}

data=$1
shift
torchrun --nnodes="$SLURM_JOB_NUM_NODES" --nproc-per-node="${PENSTOCK_RANKS_PER_NODE:-${SLURM_GPUS_ON_NODE:-1}}" \
  --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d --rdzv-endpoint="$PENSTOCK_RENDEZVOUS" \
  --max-restarts="${PENSTOCK_MAX_RESTARTS:-3}" \
  "${PENSTOCK_TRAIN:-$(dirname "$0")/../nodes/train.py}" --data "$data" "$@"

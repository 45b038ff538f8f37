"""Finds this process's rank and the number of ranks: from arguments, else torch.distributed, else the launcher."""
import os
import sys
from dataclasses import dataclass

from .errors import InvalidArgument

__all__ = ["Rank", "find"]

# (launcher, rank, world size, local rank) as environment variables; the first complete entry counts.
_LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
)


@dataclass(frozen=True)
class Rank:
    rank: int
    world_size: int
    found: str  # where it was found

    def __str__(self):
        return f"{self.rank} of {self.world_size} ({self.found})"


def find(rank=None, world_size=None, environ=None):
    """The rank, and where it was found."""
    environ = os.environ if environ is None else environ
    if isinstance(rank, Rank):
        return rank
    if (rank is None) != (world_size is None):
        raise InvalidArgument(f"rank is {rank!r} and world_size {world_size!r}; give both, or neither to have them "
                              "found")
    if rank is not None:
        return _checked(rank, world_size, "as given")
    return _from_torch() or _from_launcher(environ) or Rank(0, 1, "alone")


def local_rank(environ=None):
    """The launcher's number of this process on its node; None without a launcher."""
    environ = os.environ if environ is None else environ
    for _, _, size, local in _LAUNCHERS:
        if size in environ and environ.get(local, "").isdigit():
            return int(environ[local])
    return None


def _checked(rank, world_size, found):
    if not (isinstance(rank, int) and isinstance(world_size, int) and 0 <= rank < world_size):
        raise InvalidArgument(f"rank {rank!r} of {world_size!r} ({found}) is invalid; ranks are 0 to world_size - 1")
    return Rank(rank, world_size, found)


def _from_torch():
    """The rank of torch.distributed if the program uses it; does not import torch for this."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return Rank(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")


def _from_launcher(environ):
    for who, rank, size, _ in _LAUNCHERS:
        if rank not in environ or size not in environ:
            continue
        # An interactive Slurm shell with one task inside an allocation is not a launcher.
        try:
            return _checked(int(environ[rank]), int(environ[size]), who)
        except ValueError:
            raise InvalidArgument(f"{rank}={environ[rank]!r} and {size}={environ[size]!r} in the environment ({who}) "
                                  "are not a valid rank; correct them, or give rank and world_size") from None
    return None

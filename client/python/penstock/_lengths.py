"""How many batches a rank takes in what is left of an epoch: the arithmetic of the daemon's plan."""


def _ceil(a, b):
    return -(-a // b)


def batches(left, batch_size, rank, world_size, remainder):
    """`left` samples remain to all ranks together; remainder is "drop", "pad_ranks", "pad_batch" or "partial"."""
    if remainder == "drop":
        return left // (world_size * batch_size)
    if remainder in ("pad_ranks", "pad_batch"):
        return _ceil(left, world_size * batch_size)
    assert remainder == "partial", remainder
    return max(0, _ceil(left - rank * batch_size, world_size * batch_size))

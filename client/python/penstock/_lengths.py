"""Number of batches of a rank in the rest of an epoch, computed as the daemon's plan does."""


def _ceil(a, b):
    return -(-a // b)


def batches(left, batch_size, rank, world_size, remainder):
    """`left`: samples that remain for all ranks together. `remainder`: "drop", "pad_ranks", "pad_batch" or "partial"."""
    if remainder == "drop":
        return left // (world_size * batch_size)
    if remainder in ("pad_ranks", "pad_batch"):
        return _ceil(left, world_size * batch_size)
    assert remainder == "partial", remainder
    return max(0, _ceil(left - rank * batch_size, world_size * batch_size))

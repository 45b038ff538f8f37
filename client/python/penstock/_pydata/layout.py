"""The order in which a strided array's elements are stored: dense, in the order of its strides."""


def contiguous(shape):
    """Strides, in elements, of a contiguous array."""
    strides, count = [], 1
    for side in reversed(shape):
        strides.append(count)
        count *= max(1, side)
    return tuple(reversed(strides))


def dense(shape, strides):
    """Strides, in elements, for a copy of an array with these: dense, and with the same order of the dimensions, so that
    channels_last stays channels_last and Fortran's order stays. A dimension of stride 0 (an expanded one) keeps it and is
    stored once. Returns (strides, number of elements to store)."""
    if 0 in shape:
        return contiguous(shape), 0
    order = sorted(range(len(shape)), key=lambda dimension: (-abs(strides[dimension]), dimension))
    made, count = [0] * len(shape), 1
    for dimension in reversed(order):
        if shape[dimension] == 1:
            made[dimension] = strides[dimension] if strides[dimension] > 0 else count
        elif strides[dimension] != 0:
            made[dimension] = count
            count *= shape[dimension]
    return tuple(made), count

"""Python functions between native steps: what they get, and what they may return.

Between functions a value stays what it is, if the next one wants that; bytes are converted between arrays, Pillow images
and tensors.
"""
import sys

from ...errors import InvalidArgument

_MODES = {"L": 1, "RGB": 3}


def run(functions, row):
    """What the last function returns for `row`, a uint8 array (height, width, channels) that they may change."""
    value, before = row, None
    for function in functions:
        value = _call(function, _as(function.input, value, before, function.name))
        before = function.name
    return value


def _call(function, value):
    try:
        return function.fn(value)
    except AttributeError as error:
        if function.input != "array" or "ndarray" not in str(error):
            raise
        raise AttributeError(f"{error}; {function.name} gets a NumPy array (height, width, channels): write penstock.Python("
                             f"{function.name}, input='pil') for a Pillow image") from error


def _as(wanted, value, before, name):
    if wanted == _kind(value):
        return value
    row = bytes_of(value)
    if row is None:
        raise InvalidArgument(f"{name} wants input={wanted!r}, but {before} returned {describe(value)}; only bytes (uint8) can "
                              "be converted: return those, or give both functions one input")
    if wanted == "array":
        return row
    if wanted == "pil":
        from PIL import Image
        return Image.fromarray(row[:, :, 0] if row.shape[2] == 1 else row)
    import torch
    return torch.from_numpy(row).permute(2, 0, 1).contiguous()


def _kind(value):
    if is_tensor(value):
        return "tensor"
    return "pil" if _is_pillow(value) else "array" if _is_array(value) else None


def is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_array(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_pillow(value):
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def bytes_of(value):
    """A contiguous uint8 array (height, width, channels) of an array, a Pillow image or a tensor of bytes; None of
    anything else."""
    import numpy
    if _is_pillow(value):
        value = numpy.array(value) if value.mode in _MODES else None
    elif is_tensor(value):
        is_image = value.dim() == 3 and str(value.dtype) == "torch.uint8"
        value = value.detach().permute(1, 2, 0).cpu().numpy() if is_image else None
    elif not _is_array(value):
        value = None
    if value is None or value.dtype != numpy.uint8 or value.ndim not in (2, 3) or 0 in value.shape:
        return None
    return numpy.ascontiguousarray(value if value.ndim == 3 else value[:, :, None])


def describe(value):
    """What a function returned, for messages."""
    if _is_pillow(value):
        return f"a Pillow image of mode {value.mode!r}"
    if is_tensor(value) or _is_array(value):
        what = "a tensor" if is_tensor(value) else "an array"
        return f"{what} of {str(value.dtype).replace('torch.', '')} with shape {tuple(value.shape)}"
    return f"{type(value).__name__} {value!r}"[:200]

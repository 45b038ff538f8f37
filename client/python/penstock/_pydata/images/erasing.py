"""RandomErasing of images that are decoded in this process: the boxes and numbers of native feeds."""
from ...errors import InvalidArgument


def check(decoding):
    """Refuses what only the finish of native feeds does."""
    erasing = decoding.steps.finish.erasing
    if erasing is None:
        return
    if erasing.value == "random":
        raise InvalidArgument("RandomErasing with value='random' is for datasets that Penstock reads itself; give a number here, or "
                              "erase in Python: penstock.Python(…, input='tensor')")
    if decoding.unscaled:
        raise InvalidArgument("RandomErasing computes with numbers from 0 to 1, but ToDtype without scale=True leaves them from 0 to "
                              "255; use scale=True")


def erased(tensor, decoding, key):
    """The finished tensor with the box of its key, (seed, epoch, number), filled, in place."""
    plan = decoding.steps.finish
    if plan.erasing is None:
        return tensor
    import torch
    channels, height, width = tensor.shape if decoding.layout == "NCHW" else tensor.permute(2, 0, 1).shape
    x, y, w, h = _box(plan.erasing, decoding.steps.decode.erasing_step, key, channels, height, width)
    if w == 0:
        return tensor
    values = torch.tensor(plan.erasing.values(channels))
    image = tensor if decoding.layout == "NCHW" else tensor.permute(2, 0, 1)
    image[:, y:y + h, x:x + w] = values.view(-1, 1, 1).to(tensor.dtype)
    return tensor


def _box(erasing, step, key, channels, height, width):
    """(x, y, width, height), as server/plan/README.md specifies it; a width of 0: nothing is erased."""
    import numpy

    from ... import _feed
    from ... import _penstock as native
    options = native.EffectOptions()
    options.seed, epoch, number = key
    options.erasing = _feed.erasing_of(erasing, step, channels)
    boxes, _ = options.drawn(epoch, 0, numpy.array([number], "uint64"), 1, height, width)
    return boxes[0][:4]

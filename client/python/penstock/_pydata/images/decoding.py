"""Decodes encoded images in this process, by the extension penstock._decode: the decoder of Penstock's workers.

NumPy and the extension are imported with the first image.
"""
import threading

from ...errors import DataLoss, InvalidArgument
from ...transforms import sides_of

# Limits of one image. Bytes are the program's own, in memory already, so their limit is only the decoder's own largest;
# pixels and scans as in the daemon's configuration.
MAX_BYTES = 1 << 30
MAX_PIXELS = 100_000_000
MAX_SCANS = 100


class _Thread(threading.local):
    """A decoder serves one thread."""

    def __init__(self):
        import numpy

        from ... import _decode
        self.decoder = _decode.Decoder(MAX_BYTES, MAX_PIXELS, MAX_SCANS)
        self.empty = numpy.empty
        self.row = numpy.empty(0, numpy.uint8)

    def scratch(self, size):
        """Memory for one row, kept for the next one unless it is large."""
        if self.row.size >= size:
            return self.row[:size]
        row = self.empty(size, self.row.dtype)
        if size <= 8 << 20:
            self.row = row
        return row


_threads = None


def thread():
    """This thread's decoder and memory."""
    global _threads
    if _threads is None:
        _threads = _Thread()
    return _threads


def spec_of(plan):
    """What the extension needs to know of a plan. A plan without a crop leaves images as they are."""
    from ... import _decode
    rest = {"gray": plan.gray, "upright": plan.upright}
    steps = list(_flat(plan.ops()))
    if plan.canvas:
        raise InvalidArgument("Canvas is for datasets that Penstock reads itself; in Python, collate images of different sizes as lists")
    if plan.whole is not None:
        return _decode.Spec.recipe(*plan.whole, steps=steps, **rest)
    rest["flip"] = plan.flip
    if plan.random_crop is not None:
        crop = plan.random_crop
        return _decode.Spec.random_crop(*sides_of(crop), *map(float, (*crop.scale, *crop.ratio)), steps=steps,
                                        interpolation=_filter(crop.op()), **rest)
    if plan.center_crop is not None:
        resize, crop = plan.center_crop
        return _decode.Spec.center_crop(resize.shorter, *sides_of(crop), steps=steps, interpolation=_filter(resize.op()), **rest)
    return _decode.Spec.whole(steps=steps, **rest)


def _filter(op):
    return ("nearest", "lanczos", "bilinear", "bicubic").index(op.interpolation)  # Pillow's numbers


def _flat(ops, weights=None):
    """The steps one after the other, a group's behind it, as the extension takes them."""
    from ... import _penstock as native
    for place, op in enumerate(ops):
        chooses = op.name == "RANDOM_CHOICE"
        yield (getattr(native.TransformOp, op.name).value, op.count - 1, () if chooses else op.numbers, op.probability,
               weights[place] if weights else 1.0, _filter(op),
               ("constant", "edge", "reflect", "symmetric").index(op.padding_mode))
        yield from _flat(op.children, op.numbers if chooses else None)


def shape_of(data, spec, name):
    """(height, width, channels) of the row. DataLoss: the image cannot be read."""
    shape = thread().decoder.shape(data, spec)
    if isinstance(shape, str):
        raise bad_image(data, shape, name)
    return shape


def decode_into(row, data, spec, key, name):
    """Fills `row`, bytes of the row's size. DataLoss: the image cannot be decoded."""
    fault = thread().decoder.decode_row(data, spec, *key, row)
    if fault is not None:
        raise bad_image(data, fault, name)


def bad_image(data, fault, name):
    return DataLoss(f"{name}: the image of {len(data)} bytes cannot be decoded: {fault}; repair it, or leave it out of the "
                    "dataset")

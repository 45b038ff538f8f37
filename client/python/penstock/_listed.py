"""Batches as detection models take them: a list of images, and a list of what belongs to each."""
import torch

from . import _targets
from ._tensors import lengths_name
from .errors import InvalidArgument

IMAGE_ID = "image_id"


class Listed(tuple):
    """`images, targets = batch`, as torchvision's detection models take them. Its tensors are views of `whole`, the batch by names,
    which also has the position, `sample_ids` and `valid_rows`."""

    whole = None

    def __new__(cls, images, targets, whole, listing):
        listed = super().__new__(cls, (images, targets))
        listed.whole, listed._listing = whole, listing
        return listed

    position = property(lambda self: self.whole.position)
    sample_ids = property(lambda self: self.whole.sample_ids)
    valid_rows = property(lambda self: self.whole.valid_rows)
    valid = property(lambda self: self.whole.valid)

    def to(self, device, non_blocking=False):
        """The same on another device."""
        return self._listing(self.whole.to(device, non_blocking=non_blocking))

    def __reduce__(self):
        return tuple, (tuple(self),)


class Listing:
    """Turns a batch into a list of images and a list of dicts. `names`: {name in the dicts: name of the field}; {}: the fields' own.
    `masks`: names of fields with the image's size."""

    def __init__(self, image, names, masks):
        self._image, self._masks = image, masks
        self._renamed = {field: name for name, field in names.items()}

    def __call__(self, batch):
        names = [name for name in batch.keys() if name not in (self._image, _targets.IMAGE_SIZE)]
        lengths = {lengths_name(name) for name in names} & set(names)
        names = [name for name in names if name not in lengths]
        counts = self._counts(batch, [name for name in names if lengths_name(name) in lengths])
        sizes = counts.pop(_targets.IMAGE_SIZE, None)
        images = [_cut(image, sizes and sizes[row]) for row, image in enumerate(batch[self._image])]
        targets = [{IMAGE_ID: sample} for sample in batch.sample_ids.tolist()]
        for name in names:
            count = counts.get(name)
            for row, value in enumerate(batch[name]):
                if count is not None:
                    value = value[:count[row]]
                elif name in self._masks:
                    value = _cut(value, sizes and sizes[row])
                targets[row][self._renamed.get(name, name)] = value
        return Listed(images, targets, batch, self)

    @staticmethod
    def _counts(batch, variable):
        """{name: the number of elements of each row} and the images' sizes; one copy from the GPU for all."""
        parts = [batch[lengths_name(name)][:, None] for name in variable]
        sized = _targets.IMAGE_SIZE in batch.keys()
        if sized:
            parts.append(batch[_targets.IMAGE_SIZE].to(torch.int32))
        if not parts:
            return {}
        columns = list(zip(*torch.cat(parts, 1).tolist()))
        counts = dict(zip(variable, columns))
        if sized:
            counts[_targets.IMAGE_SIZE] = list(zip(*columns[-2:]))
        return counts


def _cut(image, size):
    """The upper left corner of an image, or of a mask, of the image's size."""
    return image if size is None else image[..., :size[0], :size[1]]


def names_of(targets):
    """What a loader's `targets` means: None, or {name in the dicts: name of the field}."""
    if targets is None:
        return None
    if targets == "list":
        return {}
    if not isinstance(targets, dict) or not all(isinstance(each, str) and each for pair in targets.items() for each in pair):
        raise InvalidArgument(f"targets is {targets!r:.80}; give \"list\", or {{name in the dicts: name of the field}}, such as "
                              "{\"boxes\": \"image/object/bbox\"}")
    if len(set(targets.values())) != len(targets):
        raise InvalidArgument("targets names a field twice; give each one name")
    return dict(targets)


def listing_of(names, settings, tensors, kinds, labeled):
    """A Listing for a session. `tensors`: those beside images. `kinds`: of the fields (_targets.kinds)."""
    if settings.layout != "NCHW":
        raise InvalidArgument(f"targets lists images as torchvision's models take them, channels first, but layout is {settings.layout!r}")
    there = [tensor.name for tensor in tensors] + ["label"] * labeled
    missing = sorted(set(names.values()) - set(there))
    if missing:
        raise InvalidArgument(f"targets names {missing[0]!r}, which no field of the batch has; the batch has {', '.join(map(repr, there))}")
    taken = [name for name in there if name not in names.values()]
    clash = sorted(set(names) & set(taken))
    if clash:
        raise InvalidArgument(f"targets gives {names[clash[0]]!r} the name {clash[0]!r}, which another field has; name that one, too")
    return Listing(settings.image_name, names, {name for name, kind in kinds.items() if kind == "mask"})

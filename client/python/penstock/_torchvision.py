"""torchvision's transforms, read as Penstock's: by their names and attributes, without importing it."""
from . import transforms
from .errors import InvalidArgument


def flatten(transform):
    """A list of Penstock's steps."""
    if transform is None:
        return []
    if isinstance(transform, (list, tuple)):
        return [step for part in transform for step in flatten(part)]
    if type(transform).__module__.split(".")[0] != "torchvision":
        return [transform]
    name = type(transform).__name__
    if name in ("Compose", "Sequential"):
        return flatten(list(transform.transforms))
    if name not in _KNOWN:
        raise InvalidArgument(
            f"Penstock does not do torchvision's {name}; it does {', '.join(sorted(_KNOWN))}. Do others on the "
            "finished batch, which is on your device already")
    return _KNOWN[name](transform)


def _plain(number):
    return number[0] if isinstance(number, (list, tuple)) and len(number) == 1 else number


def _check_interpolation(transform):
    mode = getattr(transform, "interpolation", None)
    if mode is not None and str(getattr(mode, "value", mode)) not in ("bilinear", "2"):
        raise InvalidArgument(f"{type(transform).__name__}: interpolation is {mode}; Penstock resizes as Pillow's "
                              "bilinear does, which is torchvision's default")
    if getattr(transform, "max_size", None) is not None:
        raise InvalidArgument("Resize: max_size is not done by Penstock; put a CenterCrop behind the Resize")


def _random_resized_crop(transform):
    _check_interpolation(transform)
    size = transform.size
    return [transforms.RandomResizedCrop(tuple(size) if not isinstance(size, int) else size,
                                         tuple(transform.scale), tuple(transform.ratio))]


def _resize(transform):
    _check_interpolation(transform)
    return [transforms.Resize(_plain(transform.size))]


def _center_crop(transform):
    size = transform.size
    return [transforms.CenterCrop(size if isinstance(size, int) else tuple(size))]


def _grayscale(transform):
    if transform.num_output_channels != 1:
        raise InvalidArgument("Grayscale: num_output_channels is 3; Penstock gives gray rows of one channel. Repeat it "
                              "on the finished batch: image.expand(-1, 3, -1, -1) costs nothing")
    return [transforms.Grayscale()]


def _nothing(_):
    """To a tensor in [0, 1] Penstock brings every batch anyway."""
    return []


_KNOWN = {
    "RandomResizedCrop": _random_resized_crop,
    "Grayscale": _grayscale,
    "Resize": _resize,
    "CenterCrop": _center_crop,
    "RandomHorizontalFlip": lambda transform: [transforms.HorizontalFlip(transform.p)],
    "Normalize": lambda transform: [transforms.Normalize(transform.mean, transform.std)],
    "ToTensor": _nothing,
    "ToImage": _nothing,
    "PILToTensor": _nothing,
    "ConvertImageDtype": _nothing,
    "ToDtype": _nothing,
}

"""Penstock: a data loader that decodes photographs once for each node and returns batches as tensors of your framework.

    import penstock.torch
    loader = penstock.torch.DataLoader("imagenet-train", batch_size=256, shuffle=True, device="cuda",
                                       transform=[penstock.RandomResizedCrop(224), penstock.HorizontalFlip()])

Importing this package imports no framework. `penstock.torch` and `penstock.jax` import theirs; `penstock.Loader`
works without any. It sets CUDA_DEVICE_MAX_CONNECTIONS=32, unless that is set: decoding on the GPU needs it.
"""
import importlib

from ._gpu_decoding import connections as _connections  # noqa: F401  (before anything uses CUDA)

__version__ = "0.1.0"

_HOMES = {
    "errors": ("BadSampleWarning", "DataLoss", "DeadlineExceeded", "Error", "FailedPrecondition", "Internal", "InvalidArgument", "NotFound",
               "PermissionDenied", "ResourceExhausted", "Unavailable"),
    "transforms": ("AugMix", "AutoAugment", "Canvas", "CenterCrop", "ColorJitter", "CutMix", "ExifTranspose", "GaussianBlur",
                   "Grayscale", "HorizontalFlip", "MixUp", "MultiCrop", "Normalize", "Pad", "Python", "RandAugment",
                   "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast", "RandomChoice",
                   "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomInvert", "RandomOrder",
                   "RandomPerspective", "RandomPosterize", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize",
                   "RandomSolarize", "Resize", "ScaleJitter", "TrivialAugmentWide", "VerticalFlip"),
    "_pydata.images.encoded": ("Encoded",),
    "array": ("Array",),
    "fields": ("Boxes", "Field", "Mask", "Points", "WithBoxes"),
    "loader": ("Loader",),
    "_pydata.seeding": ("rng",),
    "sampling": ("ClassBalancedSampler", "LengthGroupedSampler", "RepeatedSampler", "ShuffleWindow", "WeightedSampler"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name):
    """Imports a name's module when the name is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)


def __dir__():
    return sorted(set(globals()) | set(__all__))

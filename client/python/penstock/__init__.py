"""Penstock feeds trainers: photographs decoded once a node, batches in your framework's own tensors.

    import penstock.torch
    loader = penstock.torch.DataLoader("imagenet-train", batch_size=256, shuffle=True, device="cuda",
                                       transform=[penstock.RandomResizedCrop(224), penstock.HorizontalFlip()])

Importing this package imports no framework: `penstock.torch` and `penstock.jax` do, `penstock.Loader`
works with none.
"""
from importlib import import_module
from typing import TYPE_CHECKING

from .errors import (DataLoss, DeadlineExceeded, Error, FailedPrecondition, Internal, InvalidArgument, NotFound,
                     PermissionDenied, ResourceExhausted, Unavailable)

if TYPE_CHECKING:
    from .array import Array
    from .loader import Loader
    from .transforms import CenterCrop, HorizontalFlip, Normalize, RandomResizedCrop, Resize

__version__ = "0.1.0"

__all__ = [
    "Array", "CenterCrop", "DataLoss", "DeadlineExceeded", "Error", "FailedPrecondition", "HorizontalFlip", "Internal",
    "InvalidArgument", "Loader", "NotFound", "Normalize", "PermissionDenied", "RandomResizedCrop", "Resize",
    "ResourceExhausted", "Unavailable",
]

# Where the rest is; imported when it is asked for, so that importing the package takes next to nothing.
_PLACES = {
    "Array": "array", "Loader": "loader", "CenterCrop": "transforms", "HorizontalFlip": "transforms",
    "Normalize": "transforms", "RandomResizedCrop": "transforms", "Resize": "transforms",
}


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module("." + _PLACES[name], __name__), name)
    return value

"""Penstock feeds trainers: photographs decoded once a node, batches in your framework's own tensors.

    import penstock.torch
    loader = penstock.torch.DataLoader("imagenet-train", batch_size=256, shuffle=True, device="cuda",
                                       transform=[penstock.RandomResizedCrop(224), penstock.HorizontalFlip()])

Importing this package imports no framework: `penstock.torch` and `penstock.jax` do, `penstock.Loader`
works with none.
"""
from .errors import (DataLoss, DeadlineExceeded, Error, FailedPrecondition, Internal, InvalidArgument, NotFound,
                     PermissionDenied, ResourceExhausted, Unavailable)
from .transforms import CenterCrop, HorizontalFlip, Normalize, RandomResizedCrop, Resize

__version__ = "0.1.0"

__all__ = [
    "Array", "CenterCrop", "DataLoss", "DeadlineExceeded", "Error", "FailedPrecondition", "HorizontalFlip", "Internal",
    "InvalidArgument", "Loader", "NotFound", "Normalize", "PermissionDenied", "RandomResizedCrop", "Resize",
    "ResourceExhausted", "Unavailable",
]


def __getattr__(name):
    if name == "Loader":
        from .loader import Loader
        return Loader
    if name == "Array":
        from .array import Array
        return Array
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")

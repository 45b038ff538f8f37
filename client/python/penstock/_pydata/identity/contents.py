"""Walks what frameworks keep in C: NumPy arrays, tensors, images. Looks only at modules that are imported."""
import os
import sys

from ..slot_numpy import is_flat
from .walk import Opaque


def walk(to, value):
    """Adds `value`, if it is of a kind known here; returns whether it is."""
    numpy, torch, image = sys.modules.get("numpy"), sys.modules.get("torch"), sys.modules.get("PIL.Image")
    if numpy is not None and isinstance(value, getattr(numpy, "ndarray", ())):
        return _array(to, value, numpy)
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        return _tensor(to, value, torch)
    if torch is not None and type(value).__name__ in ("UntypedStorage", "TypedStorage", "_UntypedStorage", "_TypedStorage"):
        return _storage(to, value)
    if torch is not None and isinstance(value, getattr(torch, "Generator", ())):
        to.token("torch.Generator", str(value.device))
        from . import objects
        objects.walk(to, value.get_state())
        return True
    if image is not None and isinstance(value, image.Image):
        return _image(to, value)
    return False


def is_global_generator(value):
    """Those that are seeded before each sample, so that their state now does not matter."""
    random, numpy, torch = (sys.modules.get(name) for name in ("random", "numpy.random", "torch"))
    return (random is not None and value is random._inst or numpy is not None and value is numpy.mtrand._rand
            or torch is not None and value is getattr(torch, "default_generator", None))


def _array(to, array, numpy):
    from . import objects
    objects.walk(to, type(array), "__class__")
    flags = array.flags
    dense = flags.c_contiguous, flags.f_contiguous
    to.token("array", repr((array.shape, *dense, flags.writeable, None if any(dense) else array.strides)))
    if array.nbytes:
        _note_array(to, array, numpy)
    objects.walk(to, array.dtype, ".dtype")
    if not (type(array) is numpy.ndarray or type(array) is numpy.memmap):
        objects.walk(to, {name: part for name, part in vars(array).items() if name != "_mmap"}, ".__dict__")
    if not is_flat(array.dtype):
        objects.walk(to, numpy.asarray(array).ravel().tolist())
    elif not _mapped_file(to, array, numpy):
        to.token("bytes", numpy.ascontiguousarray(array).reshape(-1).view("uint8") if array.dtype.itemsize else b"")
    return True


def _note_array(to, array, numpy):
    """Notes the memory of the array that owns it. Bytes are left out: the compiler may share constants, or not."""
    owner = array
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    if type(owner.base) is not bytes:
        place, end = owner.__array_interface__["data"][0], 0
        begin = place
        if owner.flags.c_contiguous or owner.flags.f_contiguous:
            end = place + owner.nbytes
        else:
            reach = [(size - 1) * stride for size, stride in zip(owner.shape, owner.strides)]
            begin = place + sum(each for each in reach if each < 0)
            end = place + sum(each for each in reach if each > 0) + owner.itemsize
        to.note_memory(begin, end, place if owner is array else array.__array_interface__["data"][0])


def _mapped_file(to, array, numpy):
    """A file that is mapped read-only is what the file is: its place and state on the disk. Anything else is read."""
    base = array
    while base is not None and not isinstance(base, numpy.memmap):
        base = getattr(base, "base", None)
    if base is None or base._mmap is None or base.mode != "r" or base.filename is None:
        return False
    begin = numpy.frombuffer(base._mmap, "uint8").__array_interface__["data"][0]
    place = array.__array_interface__["data"][0] - begin
    if not 0 <= place < len(base._mmap):
        return False
    state = os.stat(base.filename)
    page = base.offset - base.offset % __import__("mmap").ALLOCATIONGRANULARITY
    to.token("file", repr((state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, page + place, array.strides)))
    return True


def _storage(to, storage):
    untyped = getattr(storage, "_untyped_storage", None)
    if untyped is None:
        untyped = storage.untyped() if hasattr(storage, "untyped") else storage
    to.token("storage", f"{type(storage).__name__}:{getattr(storage, 'dtype', None)}:{untyped.device}")
    to.token("bytes", bytes(untyped))
    if untyped.nbytes():
        to.note_memory(untyped.data_ptr(), untyped.data_ptr() + untyped.nbytes(), untyped.data_ptr())
    return True


def _tensor(to, tensor, torch):
    from . import objects
    if tensor.device.type != "cpu":
        raise Opaque(f"a tensor on {tensor.device}; keep a dataset's tensors on the CPU")
    if tensor.layout is not torch.strided or tensor.is_quantized or getattr(tensor, "is_nested", False):
        objects._reduced(to, tensor)
        return True
    objects.walk(to, type(tensor), "__class__")
    to.token("tensor", repr((str(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad)))
    plain = tensor.detach()
    if type(plain) is not torch.Tensor:
        plain = plain.as_subclass(torch.Tensor)
    if plain.numel():
        flat = plain.resolve_conj().resolve_neg().contiguous().reshape(-1)
        to.token("bytes", flat.view(torch.uint8).numpy())
        storage = plain.untyped_storage() if hasattr(plain, "untyped_storage") else plain._storage()
        begin = storage.data_ptr()
        to.note_memory(begin, begin + storage.nbytes(), plain.data_ptr())
    objects.walk(to, dict(tensor.__dict__), ".__dict__")
    return True


# Attributes that Pillow keeps for itself: how far a file was read, and the pixels, which come from tobytes().
_PILLOWS = {"im", "_im", "pyaccess", "fp", "_fp", "_exclusive_fp", "_close_exclusive_fp_after_loading", "tile", "map",
            "decoderconfig", "decodermaxblock", "readonly", "_readonly", "is_animated", "n_frames", "_exif", "icclist",
            "app", "applist", "png", "text", "private_chunks", "palette", "info", "_size", "size", "mode", "_mode"}


def _image(to, image):
    from . import objects
    try:
        data = image.tobytes()
    except Exception as error:
        raise Opaque(f"an image that cannot be read ({error})") from None
    to.token("image", repr((image.mode, image.size, image.getpalette() if image.mode in ("P", "PA") else None)))
    to.token("bytes", data)
    objects.walk(to, type(image), "__class__")
    objects.walk(to, {name: value for name, value in image.info.items() if name != "exif_loaded"}, ".info")
    objects.walk(to, {name: value for name, value in vars(image).items() if name not in _PILLOWS}, ".__dict__")
    return True

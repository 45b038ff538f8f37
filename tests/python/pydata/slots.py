"""Shared by the tests of slots: sends structures through a slot, and compares what came out."""
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402, F401

from penstock._pydata import slot  # noqa: E402


def through_slot(value):
    """Writes the value into memory of exactly the size that was measured, and returns what a reader gets."""
    plan = slot.measure(value)
    memory = bytearray(os.urandom(plan.nbytes))
    assert plan.write(memory) == plan.nbytes
    return slot.read(memory)


def features(value):
    """What must survive, of every part of a structure, as something that == compares."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if torch is not None and isinstance(value, torch.Tensor):
        strides = value.stride() if value.layout is torch.strided and value.numel() > 1 else None
        plain = value.detach() if type(value) is torch.Tensor else value.detach().as_subclass(torch.Tensor)
        if plain.is_quantized:
            elements = plain.int_repr().tolist()
        else:
            elements = plain.to_dense().to(torch.complex128 if plain.is_complex() else torch.float64).tolist()
        return kind, str(value.dtype), tuple(value.shape), strides, str(value.layout), value.requires_grad, elements, \
            features(value.__dict__)
    if numpy is not None and isinstance(value, numpy.ndarray):
        return kind, value.dtype.str, value.dtype.descr, value.shape, value.flags.f_contiguous, \
            features(value.ravel().tolist())
    if isinstance(value, dict):
        return kind, [(features(key), features(part)) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return kind, [features(part) for part in value]
    if hasattr(value, "tobytes") and hasattr(value, "mode"):  # an image
        return kind, value.mode, value.size, value.tobytes(), value.info
    return kind, repr(value)

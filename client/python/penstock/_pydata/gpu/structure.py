"""The tensors in a batch, and the same batch with others in their place, as torch's DataLoader finds them to pin them.
"""
import collections.abc
import copy
import dataclasses

from ..layout import dense


def changed(value, change, method, arguments):
    """The same structure with `change` applied to its tensors. Other objects that have `method` are asked to change
    themselves; everything else stays."""
    import torch
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (str, bytes)) or value is None:
        return value
    again = lambda part: changed(part, change, method, arguments)  # noqa: E731
    if isinstance(value, collections.abc.Mapping):
        return _mapping(value, again)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(again, value))
    if isinstance(value, tuple):
        return type(value)(map(again, value)) if type(value) is not tuple else tuple(map(again, value))
    if isinstance(value, list):
        return _sequence(value, again)
    own = getattr(value, method, None)
    if callable(own):
        return own(*arguments)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, again)
    return value


def tensors_in(value, method):
    """The tensors that `changed` with this method would change, in its order."""
    import torch
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, collections.abc.Mapping):
        for part in value.values():
            yield from tensors_in(part, method)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part, method)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type) and not callable(getattr(value, method, None)):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name), method)


def is_plain(tensor):
    """Whether it is its elements alone, stored once and densely in this process's ordinary memory. torch itself moves
    all others: subclasses, graphs, sparse and quantised ones."""
    import torch
    if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided or tensor.device.type != "cpu":
        return False
    if tensor.requires_grad or tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.numel() == 0:
        return False
    if tensor.is_contiguous():
        return True
    return dense(tuple(tensor.shape), tensor.stride()) == (tensor.stride(), tensor.numel())


def _mapping(value, again):
    parts = {name: again(part) for name, part in value.items()}
    if type(value) is dict:
        return parts
    try:
        other = copy.copy(value)
        other.update(parts)
        return other
    except (AttributeError, TypeError):
        return parts


def _sequence(value, again):
    parts = [again(part) for part in value]
    if type(value) is list:
        return parts
    other = copy.copy(value)
    other[:] = parts
    return other


def _dataclass(value, again):
    other = copy.copy(value)
    for field in dataclasses.fields(value):
        object.__setattr__(other, field.name, again(getattr(value, field.name)))
    return other

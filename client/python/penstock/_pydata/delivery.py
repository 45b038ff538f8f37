"""Hands a finished structure to the loop: pinned, or on a device, as torch's DataLoader and `Tensor.to` would."""
import collections.abc
import dataclasses


def of(device, pin_memory):
    """A function from a batch to what the loop gets; None: the batch as it is."""
    import torch
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device != "cpu":
        if device.startswith("cuda") and not torch.cuda.is_available():
            from ..errors import FailedPrecondition
            raise FailedPrecondition(f"device is {device!r}, but torch sees no GPU; give device='cpu', or 'auto' to "
                                     "use one if there is one")
        target = torch.device(device)
        return lambda batch: changed(batch, lambda tensor: tensor.to(target, non_blocking=True), "to", (target,))
    if pin_memory and torch.cuda.is_available():
        return lambda batch: changed(batch, lambda tensor: tensor.pin_memory(), "pin_memory", ())
    return None


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


def _mapping(value, again):
    import copy
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
    import copy
    parts = [again(part) for part in value]
    if type(value) is list:
        return parts
    other = copy.copy(value)
    other[:] = parts
    return other


def _dataclass(value, again):
    import copy
    other = copy.copy(value)
    for field in dataclasses.fields(value):
        object.__setattr__(other, field.name, again(getattr(value, field.name)))
    return other

"""Modes of this thread in torch: gradients, inference, autocast. A host may be forked later than the dataset was looked at,
in a call for any batch, and then has the modes of that time."""
import contextlib
import sys

_DEVICES = ("cpu", "cuda")


def now():
    """(gradients, inference, autocast's cache, autocast of each device); None without torch."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "is_inference_mode_enabled"):
        return None
    if hasattr(torch, "get_autocast_dtype"):
        casts = [(torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in _DEVICES]
    else:
        casts = [(torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()),
                 (torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype())]
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_cache_enabled(), tuple(casts)


@contextlib.contextmanager
def within(modes):
    """In these modes, which `now` gave, whatever they are at present."""
    present = now()
    if modes is None or present == modes:
        yield
        return
    torch = sys.modules["torch"]
    with torch.inference_mode(modes[1]) if present[1] != modes[1] else contextlib.nullcontext():
        before = now()
        _put(torch, modes)
        try:
            yield
        finally:
            _put(torch, before)


def _put(torch, modes):
    gradients, _, cache, casts = modes
    torch.set_grad_enabled(gradients)
    torch.set_autocast_cache_enabled(cache)
    for device, (enabled, dtype) in zip(_DEVICES, casts):
        if hasattr(torch, "get_autocast_dtype"):
            torch.set_autocast_enabled(device, enabled)
            torch.set_autocast_dtype(device, dtype)
        elif device == "cpu":
            torch.set_autocast_cpu_enabled(enabled)
            torch.set_autocast_cpu_dtype(dtype)
        else:
            torch.set_autocast_enabled(enabled)
            torch.set_autocast_gpu_dtype(dtype)

"""CUDA's connections to the GPU: a process has eight, unless it asks for more before it uses CUDA.

Streams that share a connection wait for each other, and nvJPEG works on 14 streams for each of the two decoders of a loader. If one of
them shares the training loop's connection, its image waits for all that the loop has started, which may be a whole step.
"""
import ctypes
import os

from .._say import say_once

_VARIABLE, _MOST = "CUDA_DEVICE_MAX_CONNECTIONS", "32"


def ask_for_connections():
    """Asks CUDA for as many as there can be, unless the program has chosen a number. Says so once if they are too few."""
    chosen = os.environ.get(_VARIABLE)
    if chosen is None and not _uses_cuda():
        os.environ[_VARIABLE] = _MOST
    elif chosen != _MOST:
        why = "this program used CUDA before it made the loader" if chosen is None else f"{_VARIABLE} is {chosen}"
        say_once(f"decoding on the GPU may wait for the training loop's work, because {why}; start the program with {_VARIABLE}={_MOST}")


def _uses_cuda():
    """Whether this process has a context on a GPU, whichever framework made it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False  # nothing has loaded it
    count, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return False  # nothing has initialised it
    for device in range(count.value):
        if driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active)) == 0 and active.value:
            return True
    return False

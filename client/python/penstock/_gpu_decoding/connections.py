"""CUDA's connections to the GPU: a process has eight, unless it asks for more before it uses CUDA.

Streams that share a connection wait for each other, and nvJPEG works on 14 streams of its own for a loader's decoder. If one of
them shares the training loop's connection, its image waits for all that the loop has started, which may be a whole step. CUDA reads the
number when the process first asks it for anything, even for the number of GPUs. So importing the package is the time to set it.
"""
import os

VARIABLE, MOST = "CUDA_DEVICE_MAX_CONNECTIONS", "32"


def ask():
    """Asks CUDA for as many as there can be, unless the program has chosen a number. Returns whether it was too late for that."""
    if VARIABLE in os.environ:
        return False
    if _is_cuda_in_use():
        return True
    os.environ[VARIABLE] = MOST
    return False


def shortage():
    """Why CUDA has fewer than there can be; None if it has all, as far as the environment tells. A number that the program set after
    it used CUDA looks as good as one that was set in time."""
    if _too_late:
        return "this program used CUDA before it imported penstock"
    chosen = os.environ.get(VARIABLE, "unset")
    return None if chosen == MOST else f"{VARIABLE} is {chosen}"


def _is_cuda_in_use():
    import ctypes  # here, because it takes longer than the rest of the import

    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False  # nothing has loaded it
    return driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) == 0  # else nothing has initialised it


_too_late = ask()

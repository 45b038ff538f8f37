"""Tells libraries from the program's own code, and says which version of a library there is."""
import functools
import hashlib
import os
import site
import sys
import sysconfig

_SETTLED = {"cv2", "numpy", "pandas", "penstock", "PIL", "pyarrow", "scipy", "torch", "torchaudio", "torchvision"}
_FOLDERS = ("site-packages", "dist-packages")


@functools.lru_cache(1)
def _roots():
    """The folders of libraries: Python's, and Penstock's own, which may be links into a checkout."""
    paths = {sysconfig.get_paths().get(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update(getattr(site, "getsitepackages", list)())
    paths.add(os.path.dirname(os.__file__))
    paths.update(os.path.dirname(os.path.dirname(place)) for place in (os.path.abspath(__file__), os.path.realpath(__file__)))
    return tuple(sorted({os.path.realpath(path) + os.sep for path in paths if path}))


@functools.lru_cache(100_000)
def is_library_file(file, generated=False):
    """`generated`: what to say of code without a file, such as the functions of a dataclass."""
    if file is None or file in ("built-in", "frozen") or file.startswith("<frozen"):
        return True
    if not file or file.startswith("<"):
        return generated
    return os.path.realpath(file).startswith(_roots()) or any(part in _FOLDERS for part in file.split(os.sep))


def is_library_module(name):
    """`name` as in sys.modules; one that is not there belongs to nobody, and so to the program."""
    module = sys.modules.get(name)
    if module is None or name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    if file is None and hasattr(module, "__path__"):  # a namespace package
        return any(is_library_file(os.path.join(path, "")) for path in module.__path__)
    if file is None:
        return getattr(getattr(module, "__spec__", None), "origin", None) in ("built-in", "frozen") or \
            name in sys.builtin_module_names or _is_below_a_library(name)
    return is_library_file(file)


def is_settled(name):
    """Whether a library's own variables can be left aside: those of the standard library, and of packages whose settings
    that matter are in surroundings.py. Other packages may be the program's own, installed."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return name.partition(".")[0] in _SETTLED or not any(part in _FOLDERS for part in str(file).split(os.sep))


def _is_below_a_library(name):
    """Modules that a library makes of nothing, such as torch.ops."""
    above = name.rpartition(".")[0]
    return bool(above) and above in sys.modules and is_library_module(above)


@functools.lru_cache(10_000)
def version(name):
    """The version of a loaded module's library and the state of the module's file: an edited library is another one."""
    said = getattr(sys.modules.get(name.partition(".")[0]), "__version__", "")
    return f"{said}:{file_state(getattr(sys.modules.get(name), '__file__', None))}"


def file_state(file):
    try:
        state = os.stat(file) if file else None
    except OSError:
        state = None
    return f"{state.st_size}:{state.st_mtime_ns}" if state else ""


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()

"""What surrounds a dataset's code and changes what it does: interpreter, paths, flags, environment, frameworks' settings.

Left out because samples do not depend on it: numbers of threads, process ids, ranks, devices, time.
"""
import locale
import os
import platform
import sys
import time

from . import environment, settings

# Read by libraries when they load or work. A name that ends with _ is the beginning of names.
_VARIABLES = ("PYTHONHASHSEED", "PYTHONPATH", "LANG", "LANGUAGE", "LC_", "TZ", "TZDIR", "HOME", "HF_", "TORCH_", "TORCHVISION_",
              "OPENCV_", "MKL_CBWR", "NPY_", "NUMPY_", "XDG_CACHE_HOME", "TMPDIR", "TEMP", "TMP")

_FLAGS = ("optimize", "hash_randomization", "isolated", "utf8_mode", "safe_path", "int_max_str_digits")


def walk(to):
    """Adds the surroundings to the Walk `to`. Call it last: of frameworks, only those count that the walk has met."""
    to.path[:] = ["the program"]
    to.token("surroundings", repr(list(_facts(to.packages))))
    settings.walk(to)
    if to.reads_environment:
        environment.walk(to)


def _facts(packages):
    yield "interpreter", sys.implementation.name, sys.version, platform.machine(), sys.byteorder
    yield "prefix", sys.prefix
    yield "flags", [(name, getattr(sys.flags, name)) for name in _FLAGS if hasattr(sys.flags, name)]
    yield "path", [os.path.abspath(path) if isinstance(path, str) else repr(path) for path in sys.path]
    yield "folder", _folder()
    yield "locale", locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding()
    yield "zone", time.tzname, time.timezone
    yield "variables", sorted((name, value) for name, value in os.environ.items() if _counts(name))
    if "PIL" in packages:
        yield "Pillow", _pillow()
    if "torchvision" in packages:
        backend = getattr(sys.modules["torchvision"], "get_image_backend", None)
        yield "torchvision", backend() if backend else None


def _counts(name):
    return any(name == each or each.endswith("_") and name.startswith(each) for each in _VARIABLES)


def _folder():
    try:
        return os.getcwd()
    except OSError:
        return None


def _pillow():
    file, image = sys.modules.get("PIL.ImageFile"), sys.modules.get("PIL.Image")
    return [getattr(file, "LOAD_TRUNCATED_IMAGES", False), getattr(image, "MAX_IMAGE_PIXELS", None)]

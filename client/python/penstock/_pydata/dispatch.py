"""Which class makes a loader: of a dataset's name or path, of a Python dataset that Penstock can read itself, or of any
other."""
import functools
import os

from .._steps import has_functions


def class_for(cls, dataset, arguments, keywords):
    """`cls` itself for a name, a path, or an unpickled loader; else NativeLoader, or PythonLoader with the program's own
    subclass before it. A transform with Python functions needs that, too."""
    is_named = isinstance(dataset, (str, os.PathLike))
    if dataset is None or (is_named and not has_functions(keywords.get("transform"))):
        return cls
    from ..torch import DataLoader
    from .loader import PythonLoader
    if cls is DataLoader:
        from . import native
        return native.NativeLoader if not is_named and native.is_chosen(dataset, arguments, keywords) else PythonLoader
    return cls if issubclass(cls, PythonLoader) else _mixed(cls)


@functools.lru_cache(None)
def _mixed(cls):
    from .loader import PythonLoader
    return type(cls.__name__, (cls, PythonLoader), {
        "__module__": cls.__module__, "__qualname__": cls.__qualname__,
        "__reduce__": lambda self: (_blank, (cls,), self.__getstate__())})


def _blank(cls):
    mixed = _mixed(cls)
    return mixed.__new__(mixed)

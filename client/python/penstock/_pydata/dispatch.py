"""Which class makes a loader: of a dataset's name or path, or of a Python dataset."""
import functools
import os

from .._steps import has_functions


def class_for(cls, dataset, transform=None):
    """`cls` itself for a name, a path, or an unpickled loader; else PythonLoader, with the program's own subclass before it.
    A transform with Python functions needs that, too."""
    if dataset is None or (isinstance(dataset, (str, os.PathLike)) and not has_functions(transform)):
        return cls
    from .loader import PythonLoader
    if issubclass(cls, PythonLoader):
        return cls
    from ..torch import DataLoader
    return PythonLoader if cls is DataLoader else _mixed(cls)


@functools.lru_cache(None)
def _mixed(cls):
    from .loader import PythonLoader
    return type(cls.__name__, (cls, PythonLoader), {
        "__module__": cls.__module__, "__qualname__": cls.__qualname__, "_declared": cls,
        "__reduce__": lambda self: (_blank, (cls,), self.__getstate__())})


def _blank(cls):
    mixed = _mixed(cls)
    return mixed.__new__(mixed)

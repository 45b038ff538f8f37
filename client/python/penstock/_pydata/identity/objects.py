"""Walks values: containers, attributes, and what objects of C say of themselves. code.py has functions, classes and
modules; contents.py has arrays, tensors and images."""
import collections
import copyreg
import enum
import functools
import io
import itertools
import logging
import marshal
import numbers
import os
import pickle
import struct
import sys
import threading
import types
import weakref
from typing import Any, Callable, Dict

from . import caches, code, contents
from .walk import Opaque

_SIMPLE = {
    type(None): lambda value: b"", type(Ellipsis): lambda value: b"", type(NotImplemented): lambda value: b"",
    bool: lambda value: str(value), int: lambda value: hex(value), float: lambda value: struct.pack("<d", value),
    complex: lambda value: struct.pack("<2d", value.real, value.imag), str: lambda value: value, bytes: lambda value: value,
}
_MARSHALLED = {type(None), bool, int, float, complex, str, bytes}
_ENVIRONMENT = type(os.environ)
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_CACHES = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
# The content of a subclass's object, whatever the subclass makes of these methods.
_PLAIN: Dict[type, Callable[[Any], Any]] = {
    str: str.__str__, int: int.__pos__, float: float.__pos__, complex: complex.__pos__,
    bytes: lambda value: bytes(memoryview(value)), bytearray: lambda value: bytearray(memoryview(value))}
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque, str, bytes, bytearray, int, float, complex)
_STATE_METHODS = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs_ex__", "__getnewargs__")
_LONG = 64    # elements
_MARSHAL = 2  # the last version whose bytes do not depend on which objects are shared
_POINTER = struct.calcsize("P")


def walk(to, value, name=""):
    """Adds `value` to the Walk `to`. Raises Opaque, with `to.path` at the part that cannot be seen through."""
    simple = _SIMPLE.get(type(value))
    if simple is not None:
        to.token(type(value).__name__, simple(value))
        return
    by_value = type(value) in (tuple, frozenset, types.CodeType)  # may be shared or not, as the compiler pleased
    if not by_value and to.seen(value):
        return
    to.path.append(name)
    if len(to.path) > 200:
        raise Opaque("parts nested more than 200 levels deep")
    _compound(to, value)
    to.path.pop()


def _compound(to, value):
    kind = type(value)
    handler = _HANDLERS.get(kind)
    if handler is not None:
        handler(to, value)
    elif isinstance(value, type):
        code.walk_class(to, value)
    elif isinstance(value, types.ModuleType):
        code.walk_module(to, value)
    elif not (_known(to, value) or contents.walk(to, value)):
        _instance(to, value, kind)


def _known(to, value):
    """Objects that mean the same everywhere, whatever is in them."""
    if type(value) in _LOCKS or type(value) in _CACHES:
        to.token("lock or cache", type(value).__name__)
    elif isinstance(value, logging.Logger) and code.is_library_class(type(value)):
        to.token("logger", value.name)
    elif value is sys.stdin or value is sys.stdout or value is sys.stderr:
        to.token("standard stream")
    elif type(value) is _ENVIRONMENT:
        to.token("environment")
        to.reads_environment = True
    elif value is sys.modules:
        to.token("sys.modules")
    elif contents.is_global_generator(value):
        to.token("seeded generator", type(value).__name__)
    elif isinstance(value, enum.Enum):
        walk(to, type(value))
        walk(to, dict(value.__dict__), ".__dict__")  # name, value, and what __init__ made of it
    elif isinstance(value, io.IOBase):
        raise Opaque(f"an open file ({getattr(value, 'name', type(value).__name__)!r})")
    elif isinstance(value, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
        raise Opaque(f"a generator ({value.__qualname__}), whose position Python does not show")
    elif isinstance(value, threading.local):
        raise Opaque("threading.local, whose values for other threads Python does not show")
    else:
        return False
    return True


def _sequence(to, value):
    if _is_plain(value):
        to.token(f"plain {type(value).__name__}", marshal.dumps(list(value), _MARSHAL))
        return
    to.token(type(value).__name__, len(value))
    for place, part in enumerate(value):
        walk(to, part, f"[{place}]")


def _is_plain(value):
    """Whether it is a long sequence of simple values, or of tuples of them, such as the files of a dataset with their
    labels. C hashes a million of these in the time in which Python walks a few thousand."""
    if len(value) < _LONG:
        return False
    kinds = set(map(type, value))
    return kinds <= _MARSHALLED or kinds == {tuple} and set(map(type, itertools.chain.from_iterable(value))) <= _MARSHALLED


def is_constant(value):
    """Whether it is a number or a text, or a tuple of these."""
    return type(value) in _MARSHALLED or type(value) is tuple and set(map(type, value)) <= _MARSHALLED


def is_simple(value):
    """Whether it is a number or a text, or a list, tuple or dict of these."""
    if type(value) is dict:
        return {*map(type, value), *map(type, value.values())} <= _MARSHALLED
    return type(value) in _MARSHALLED or type(value) in (list, tuple) and set(map(type, value)) <= _MARSHALLED


def _dict(to, value):
    """In its order, which a dataset may rely on."""
    _items(to, list(value.items()))


def _items(to, items):
    if _is_plain(items):
        to.token("plain dict", marshal.dumps(items, _MARSHAL))
        return
    to.token("dict", len(items))
    for key, part in items:
        walk(to, key, "a key")
        walk(to, part, f"[{key!r:.80}]" if type(key) in _SIMPLE else "[...]")


def _set(to, value):
    _set_of(to, type(value).__name__, value)


def _set_of(to, kind, elements):
    """In its order, if hash randomisation leaves that alone. The order of a set of texts differs between processes."""
    if _has_own_order(elements):
        to.token(f"ordered {kind}")
        _sequence(to, list(elements))
    else:
        walk_unordered(to, kind, elements)


def walk_unordered(to, kind, elements):
    """In the order of their digests."""
    if len(elements) >= _LONG and (set(map(type, elements)) <= _MARSHALLED or all(map(is_constant, elements))):
        add_constants(to, kind, elements)
        return
    digests = [to.apart(functools.partial(walk, to, part, "an element")) for part in elements]
    to.token(kind, b"".join(sorted(digests)))


def add_constants(to, kind, values):
    to.token(f"plain {kind}", marshal.dumps(sorted(marshal.dumps(each, _MARSHAL) for each in values), _MARSHAL))


def _has_own_order(elements):
    """Whether all hashes are made of numbers: equal programs then get the set in one order."""
    kinds = set(map(type, elements))
    return kinds <= {int, bool} or str not in kinds and all(map(_is_hashed_by_value, elements))


def _is_hashed_by_value(value):
    kind = type(value)
    if kind in (tuple, frozenset):
        return _has_own_order(value)
    return isinstance(value, numbers.Number) and code.is_library_class(kind) and bool(value == value)  # not NaN


def _cell(to, cell):
    try:
        content = cell.cell_contents
    except ValueError:
        to.token("empty cell")
    else:
        walk(to, content)


def _weak(to, value):
    to.token("weakref")
    walk(to, value())


def _method(to, value):
    to.token("method")
    walk(to, value.__func__, "__func__")
    walk(to, value.__self__, "__self__")


def _wrapped(*names):
    """For descriptors that are made of functions."""
    def handler(to, value):
        to.token(type(value).__name__)
        for name in names:
            walk(to, getattr(value, name), name)
    return handler


def _pieces(*names):
    def handler(to, value):
        to.token(type(value).__name__, repr([getattr(value, name) for name in names]))
    return handler


def _memory(to, value):
    to.token("memoryview", repr((value.format, value.shape, value.readonly)))
    to.token("bytes", value.tobytes())


_HANDLERS = {
    tuple: _sequence, list: _sequence, dict: _dict, set: _set, frozenset: _set, types.MappingProxyType: lambda to, value:
    _dict(to, dict(value)), bytearray: lambda to, value: to.token("bytearray", value), memoryview: _memory,
    range: _pieces("start", "stop", "step"), slice: _wrapped("start", "stop", "step"), types.CellType: _cell,
    type(functools.lru_cache(len)): caches.walk_lru_cache, weakref.ref: _weak, types.MethodType: _method,
    staticmethod: _wrapped("__func__"), classmethod: _wrapped("__func__"), property: _wrapped("fget", "fset", "fdel"),
    functools.cached_property: _wrapped("func"), types.FunctionType: code.walk_function,
    types.BuiltinFunctionType: code.walk_builtin, types.CodeType: code.walk_code,
}
for _kind in (type(str.join), type(int.__add__), type(dict.__dict__["fromkeys"]), types.GetSetDescriptorType,
              types.MemberDescriptorType):
    _HANDLERS[_kind] = code.walk_descriptor
_HANDLERS[type((1).__add__)] = code.walk_builtin


def _instance(to, value, kind):
    """An object of a class. Those of libraries are what they would pickle; those of the program are their attributes, or
    what they would pickle if an attribute cannot be seen through."""
    own_state = kind in copyreg.dispatch_table or any(_overrides(kind, name) for name in _STATE_METHODS)
    if own_state and code.is_library_class(kind):
        _reduced(to, value)
    elif own_state:
        try:
            to.attempt(lambda: _attributes(to, value, kind))
        except Opaque:
            _reduced(to, value)
    else:
        _attributes(to, value, kind)


def _overrides(kind, name):
    return getattr(kind, name, None) is not getattr(object, name, None)


def _attributes(to, value, kind):
    base = next((each for each in _CONTAINERS if isinstance(value, each)), None)
    if base is None and _has_hidden_state(kind):
        _reduced(to, value)
        return
    to.token("instance")
    walk(to, kind, "__class__")
    if base in (dict, list, tuple, set, frozenset, collections.deque):
        _content(to, value, base)
    elif base is not None:
        walk(to, _PLAIN[base](value))
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        lazily = {name for each in kind.__mro__ for name, member in vars(each).items()
                  if isinstance(member, functools.cached_property)}
        for name, part in list(attributes.items()):
            if name not in lazily:
                to.token("attribute", str(name))
                walk(to, part, f".{name}")
    for name in sorted(copyreg._slotnames(kind)):
        to.token("slot", name)
        if hasattr(value, name):
            walk(to, getattr(value, name), f".{name}")


def _content(to, value, base):
    if base is dict:
        ordered = isinstance(value, collections.OrderedDict)  # whose order is not that of the dict below it
        _items(to, list((collections.OrderedDict if ordered else dict).items(value)))
        if isinstance(value, collections.defaultdict):
            walk(to, value.default_factory, ".default_factory")
    elif base in (set, frozenset):
        _set_of(to, base.__name__, list(base.__iter__(value)))
    else:
        _sequence(to, list(base.__iter__(value)))
        if base is collections.deque:
            walk(to, value.maxlen)


def _has_hidden_state(kind):
    """Whether its objects hold more than a header, attributes and slots: then C has put something there. pickle decides
    likewise."""
    expected = object.__basicsize__ + _POINTER * (
        (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0) + len(copyreg._slotnames(kind)))
    return kind.__basicsize__ > expected or kind.__itemsize__ != 0


def _reduced(to, value):
    """What the object would pickle."""
    kind = type(value)
    try:
        reduce = copyreg.dispatch_table.get(kind)
        parts = reduce(value) if reduce else value.__reduce_ex__(4)
    except Exception as error:
        raise Opaque(f"an object of {kind.__module__}.{kind.__qualname__}, which does not say what is in it ({error})") from None
    if isinstance(parts, str):
        _global(to, value, parts)
        return
    to.token("reduced", len(parts))
    make, arguments, *rest = parts
    walk(to, make, ".__reduce__")
    walk(to, arguments, ".__reduce__")
    for place, part in enumerate(rest):
        walk(to, list(part) if place in (1, 2) and part is not None else part, ".__reduce__")


def _global(to, value, name):
    """An object that pickles as a name: what a library has under it. Two objects of the program's may have one name."""
    module = pickle.whichmodule(value, name)
    if type(value).__module__ == "typing":  # a type variable, which does nothing
        to.token("typing", name)
        return
    if not code.is_library_module(module) or code.found(module, name) is not value:
        raise Opaque(f"an object of {type(value).__module__}.{type(value).__qualname__}, which says only its name, {name!r}")
    to.token("global", f"{module}:{name}")
    code.met(to, module)

"""Walks what functools keeps beside a function: what lru_cache has stored, what is registered with singledispatch."""
import functools
import gc
from typing import Any, cast

from .walk import Opaque

_LONG = 64  # entries
_DISPATCHER = cast(Any, functools.singledispatch(len)).__code__
_OWN = {"__wrapped__", "__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__",
        "cache_parameters"}


def walk_lru_cache(to, value):
    """Its function, and what it has stored, in any order: that is returned without a call."""
    from . import objects
    to.token("lru_cache", repr(sorted(value.cache_parameters().items())))
    objects.walk(to, value.__wrapped__)
    objects.walk(to, {name: part for name, part in vars(value).items() if name not in _OWN}, ".__dict__")
    stored = _stored(value)
    to.token("stored", len(stored))
    if len(stored) >= _LONG and all(objects.is_constant(part) for entry in stored for part in entry):
        objects.add_constants(to, "results", stored)
        return

    def digest(part, name):
        return to.apart(lambda: objects.walk(to, part, name))

    found = [(digest(key, " has stored a result for what"), result) for key, result in stored]
    if len({key for key, _ in found}) < len(found):  # of objects that are alike
        found = [(key + digest(result, " has stored what"), result) for key, result in found]
    for key, result in sorted(found, key=lambda entry: entry[0]):
        to.token("key", key)
        objects.walk(to, result, " has stored what")


def _stored(value):
    """[(key, result), ...]. Python shows them to its garbage collector alone: a dict of results, or a dict of links,
    before which come each link's key and result."""
    count = value.cache_info().currsize
    if count == 0:
        return []
    parts = gc.get_referents(value)
    for place, part in enumerate(parts):
        if type(part) is not dict or part is vars(value) or len(part) != count:
            continue
        links = {type(each) for each in part.values()}
        if value.cache_parameters()["maxsize"] is None:
            return list(part.items())
        if len(links) == 1 and next(iter(links)).__name__ == "_lru_list_elem":
            link = links.pop()
            before = [each for each in parts[:place] if each is not link and type(each) is not link]
            found = list(zip(before[-2 * count::2], before[-2 * count + 1::2]))
            if {id(key) for key, _ in found} == {id(key) for key in part} and len(found) == count:
                return found
    raise Opaque("a lru_cache whose results this Python does not show")


def walk_dispatcher(to, function):
    """A function that functools.singledispatch made; returns whether it is one. What it has looked up does not count."""
    from . import objects
    if function.__code__ is not _DISPATCHER:
        return False
    to.token("singledispatch")
    objects.walk(to, dict(function.registry), ".registry")
    own = ("register", "dispatch", "registry", "_clear_cache", "__wrapped__")
    objects.walk(to, {name: part for name, part in vars(function).items() if name not in own}, ".__dict__")
    return True

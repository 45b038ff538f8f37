"""The identity of a Python dataset with all that makes its batches: two trainers of one user share batches if they are equal.

    found = identify(dataset=dataset, collate_fn=collate_fn, worker_init_fn=None)
    found.digest    # 64 hex digits; None: nothing is shared
    found.reason    # why not, in words

Equal digests mean: the same code would run over the same values in the same surroundings. It is computed once, when the
loader is made, from what is then in memory. README.md lists what it covers, and what it cannot.
"""
import hashlib
from typing import NamedTuple, Optional

from ...errors import InvalidArgument
from .. import slot_format
from . import objects, surroundings
from .quiet import quiet
from .walk import Opaque, Walk

_VERSION = 2  # of the walk; a change makes old and new trainers strangers
_MAX_KEY = 1024


class Identity(NamedTuple):
    digest: Optional[str]
    reason: str = ""


def identify_key(key, **ours):
    """`key`: the user's word that all loaders with this key have the same dataset and functions, which are then not looked
    at. `ours`: the loader's own arguments, which count nevertheless."""
    found = identify(key)
    to = Walk()
    to.token("key", found.digest)
    try:
        with quiet():
            for name, value in ours.items():
                to.token("part", name)
                objects.walk(to, value, name)
    except Opaque as reason:
        return Identity(None, f"{''.join(to.path)} has {reason}; batches are not shared with other trainers")
    return Identity(to.digest())


def identify(key=None, **parts):
    """`key`: the user's word that all loaders with this key make the same batches; nothing is then looked at."""
    if key is not None:
        if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY:
            raise InvalidArgument(f"key is {key!r:.100}; give a text of 1 to {_MAX_KEY} characters")
        return Identity(hashlib.sha256(f"key:{_VERSION}:{slot_format.VERSION}:{key}".encode()).hexdigest())
    to = Walk()
    to.token("penstock", repr((_VERSION, slot_format.VERSION)))
    try:
        with quiet():
            for name, value in parts.items():
                to.token("part", name)
                objects.walk(to, value, name)
            surroundings.walk(to)
    except Opaque as reason:
        return Identity(None, f"{''.join(to.path)} has {reason}; batches are not shared with other trainers, unless "
                              "you give key=")
    except RecursionError:
        return Identity(None, f"{''.join(to.path[:4])} is nested too deeply; batches are not shared with other "
                              "trainers, unless you give key=")
    except Exception as error:  # an attribute that raises, an object that claims to be what it is not
        return Identity(None, f"{''.join(to.path)} cannot be compared ({type(error).__name__}: {error}); batches are "
                              "not shared with other trainers, unless you give key=")
    return Identity(to.digest())

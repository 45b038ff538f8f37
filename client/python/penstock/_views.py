"""Further images of each sample: tensors of a batch that are finished as the first image is."""
from typing import Any, NamedTuple

from . import _feed
from . import _penstock as native
from .errors import FailedPrecondition


class View(NamedTuple):
    place: int  # index into the session's tensors
    name: str
    sides: tuple  # of one row
    finish: Any
    effects: Any  # None: nothing is erased

    def destination(self, address, nbytes):
        """What the extension is told."""
        return self.place, self.finish, self.effects, address, nbytes


def of(session, settings, keying, layout=None):
    """`layout`: of the memory, instead of the loader's."""
    places = {name: (place, shape) for place, (name, _, shape, _) in enumerate(session.tensors)}
    views = []
    for number, (name, plan) in enumerate(settings.views, 1):
        if name not in places:
            raise FailedPrecondition(f"the daemon does not deliver the view {name!r}: it is of an earlier version; upgrade it, or "
                                     "give one transform")
        place, (height, width, channels) = places[name]
        finish = _feed.finish_of(settings, plan)
        if layout is not None:
            finish.layout = layout
        nchw = finish.layout == native.Layout.NCHW
        views.append(View(place, name, (channels, height, width) if nchw else (height, width, channels), finish,
                          _feed.view_effects_of(plan, number, session, keying, channels)))
    return views

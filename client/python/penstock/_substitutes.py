"""Warns when other samples replace some that could not be used."""
import sys
import time
import warnings

from .errors import BadSampleWarning, Error

_EVERY = 5.0  # seconds between two requests to the daemon, within an epoch


class Substitutes:
    """Warns of replaced rows: of the first one, and each time their number has doubled."""

    def __init__(self):
        self._next_look = 0.0
        self._next_count = 1

    def look(self, session, client, dataset, last_of_epoch):
        """Call it after each batch. Asks the daemon after the first one, every few seconds, and at an epoch's end."""
        now = time.monotonic()
        if now < self._next_look and not last_of_epoch:
            return
        self._next_look = now + _EVERY
        stats = session.stats()
        rows, of = stats["samples_replaced"], stats["samples_decoded"]
        if rows < self._next_count:
            return
        self._next_count = 2 * rows
        warnings.warn(f"{_rows(rows)} of {of} decoded so far for {dataset!r} hold{'s' * (rows == 1)} another sample instead of "
                      f"one that cannot be used{_example(client, dataset)}. Use fail_on_bad_sample=True to stop at the "
                      "first one, as torch's DataLoader does, or remove them", BadSampleWarning, stacklevel=_outside())


def _rows(count):
    return f"{count} row{'s' * (count != 1)}"


def _example(client, dataset):
    try:
        total, path, reason = client.bad(dataset)
    except Error:
        return ""
    if total == 0:  # only this loader cannot use them
        return (": a requested field is missing or longer than its max, or is none (a mask that is no gray or palette PNG of the image's "
                "size, values that are not as many as their boxes), or an image is too small or too large for the transform; the "
                "daemon's log names them")
    return f": {path}: {reason}" + (f", and {total - 1} more" if total > 1 else "")


def _outside():
    """Number of calls up to the loop over the loader, so that the warning names its line."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "penstock":
        level, frame = level + 1, frame.f_back
    return level

"""Patience with a daemon that went away: what failed for that reason is tried again."""
import time

from . import _penstock as native
from ._say import say
from .errors import DeadlineExceeded, Error, NotFound, Unavailable

_PAUSE = 0.1  # seconds between two attempts


def while_gone(attempt, seconds, may_pass, failed=None):
    """What `attempt` returns. After an error for which `may_pass(error)`, it is repeated for up to `seconds`. An attempt
    that only ran into one of the client's own time limits then ends as Unavailable: the caller set no such limit.
    `failed`: the error of a first attempt that was made already."""
    gone_since = None
    while True:
        try:
            if failed is not None:
                first, failed = failed, None
                raise first
            result = attempt()
        except (Unavailable, NotFound, DeadlineExceeded) as error:
            if not may_pass(error):
                raise
            now = time.monotonic()
            if gone_since is None:
                gone_since = now
                say(f"{error} (retrying for {seconds:g} s)")
            elif now - gone_since > seconds:
                if isinstance(error, Unavailable):
                    raise
                raise Unavailable(str(error)) from error
            time.sleep(_PAUSE)
            continue
        if gone_since is not None:
            say("it can again; going on with the same batch")
        return result


class Opening:
    """Tells errors of an opening that the daemon's end explains from all others. `served`: the daemon has served this
    loader before, so it was there. In the first opening, a daemon that answers twice that something is unavailable means
    it: it did not die. One that does not answer in time may be dying: the second attempt tells it from one that hangs."""

    def __init__(self, served, addressed):
        self._known = served  # the daemon was there: whatever is unavailable now may be back soon
        self._addressed = addressed
        self._answered = self._timed_out = False

    def may_pass(self, error, client):
        """`client`: the connection that the attempt used; None if it made none."""
        if isinstance(error, NotFound):
            return client is None and self._died()  # else the daemon says that there is no such dataset
        if self._known:
            return True
        if isinstance(error, DeadlineExceeded):
            timed_out, self._timed_out = self._timed_out, True
            return not timed_out
        if self._timed_out:  # what did not answer is gone now
            self._known = True
            return True
        if client is None and not self._addressed:
            return False  # the private daemon does not start
        if client is not None and not _answers(client):
            self._known = True
            return True
        answered, self._answered = self._answered, True
        return not answered

    def _died(self):
        """Whether it was there before: nobody is now."""
        self._known = self._known or self._answered or self._timed_out
        return self._known


def _answers(client):
    try:
        native.Client.connect(address=client.address)
    except Error:
        return False
    return True

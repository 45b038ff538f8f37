"""Connects to the daemon, which may have to start, while its caller does something else."""
import threading

from .. import _feed


class Connecting:
    """A connection that a thread of its own makes. The thread has ended when `client` has returned or raised."""

    def __init__(self, settings):
        self._settings, self._client, self._error = settings, None, None
        self._thread = threading.Thread(target=self._connect, name="penstock-connect", daemon=True)
        self._thread.start()

    def _connect(self):
        try:
            self._client = _feed.connect(self._settings)
        except BaseException as error:
            self._error = error

    def client(self):
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._client

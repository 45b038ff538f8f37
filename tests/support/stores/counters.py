"""What a server or proxy was asked for and sent, for tests to read."""
import collections
import json
import threading
import urllib.parse

KINDS = ("get", "head", "list", "put", "other")
SETTLE_S = 0.2
MAX_RANGES = 200_000  # remembered for one object


def kind_of(method, target):
    """Returns the kind of a request, and BUCKET/KEY."""
    name = urllib.parse.unquote(target.partition("?")[0])[1:]
    if method == "GET":
        return ("get" if name.partition("/")[2] else "list"), name
    return {"HEAD": "head", "PUT": "put"}.get(method, "other"), name


class Counters:
    """What was asked for and sent; safe for any number of threads."""

    def __init__(self):
        self._lock = threading.Condition()
        self._open = self._under_way = 0
        self.reset()

    def reset(self):
        """Forgets all but what is under way and open now. Waits a moment for requests whose clients already have it all."""
        with self._lock:
            self._settle()
            self._faults = collections.Counter()
            self._totals = collections.Counter()
            self._statuses = collections.Counter()
            self._objects = {}
            self._most, self._most_open = self._under_way, self._open

    def connected(self):
        with self._lock:
            self._totals["connections"] += 1
            self._open += 1
            self._most_open = max(self._most_open, self._open)

    def disconnected(self):
        with self._lock:
            self._open -= 1

    def fault(self, name):
        with self._lock:
            self._faults[name] += 1

    def begin(self):
        with self._lock:
            self._under_way += 1
            self._most = max(self._most, self._under_way)

    def end(self, kind, status, name, span, sent):
        """`span` is (first, last) of what was to be sent of the object `name`, or None."""
        with self._lock:
            self._under_way -= 1
            self._lock.notify_all()
            self._totals["requests"] += 1
            self._totals[kind] += 1
            self._totals["bytes"] += sent
            self._statuses[str(status)] += 1
            if span is None:
                return
            entry = self._objects.setdefault(name, {"requests": 0, "bytes": 0, "ranges": []})
            entry["requests"] += 1
            entry["bytes"] += sent
            if len(entry["ranges"]) < MAX_RANGES:
                entry["ranges"].append([*span, sent])

    def read(self):
        """Returns all counts. Waits a moment for requests whose clients already have it all."""
        with self._lock:
            self._settle()
            return {**{name: self._totals[name] for name in ("requests", "bytes", *KINDS)},
                    "connections": self._totals["connections"], "open": self._open,
                    "most_open": self._most_open, "under_way": self._under_way,
                    "most_under_way": self._most, "statuses": dict(self._statuses),
                    "faults": dict(self._faults),
                    "objects": json.loads(json.dumps(self._objects))}

    def _settle(self):
        self._lock.wait_for(lambda: self._under_way == 0, SETTLE_S)

"""The rules of the fault proxy: which requests meet which fault."""
import dataclasses
import random
import re
import threading
import time

# The parameters of each fault, with their defaults; None means that a rule must give it.
FAULTS = {
    "latency": {"ms": None, "jitter_ms": 0},  # before a request is passed on; several rules add up
    "bandwidth": {"bytes_per_s": None, "per": "all"},  # of bodies; per "all" or "connection"
    "reset": {"after_bytes": 0},  # a TCP reset after so many bytes of the body
    "truncate": {"after_bytes": 0},  # an orderly end after so many, of the length announced
    "stall": {"after_bytes": 0, "seconds": None},  # silence after so many, then the rest
    "corrupt": {"at": -1, "bytes": 1},  # inverts bytes of the body; at -1: anywhere
    "shifted": {"by": None, "hidden": False},  # another range than asked for; hidden: not said
    "content_range": {"by": None},  # the right body, and a Content-Range that says another
    "short": {"by": 1},  # a range that ends earlier than asked for, as Content-Range says
    "ignore_range": {},  # 200 and the whole object; breaks signatures that cover Range
    "status": {"code": None},  # another status, all else as it was
    "answer": {"status": None, "headers": {}, "body": ""},  # instead of passing the request on
    "slow_down": {},  # answer 503 SlowDown, as S3 does
    "too_many": {"retry_after_s": 1},  # answer 429 with Retry-After, as Google and proxies do
    "etag": {},  # objects have another ETag, also for If-Match
    "close": {},  # the connection ends after the response, which does not say so
    "outage": {"mode": "refuse"},  # refuse, or hang: accept and never answer
}
_SLOW_DOWN = ('<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>SlowDown</Code><Message>Please '
              "reduce your request rate.</Message><RequestId>4442587FB7D0A2F9</RequestId></Error>")


class TokenBucket:
    """At most so many bytes a second, in bursts of 10 ms; safe for any number of threads."""

    def __init__(self, bytes_per_s):
        self._rate, self._lock, self._free_at = bytes_per_s, threading.Lock(), 0.0

    def delay_s(self, count):
        """Takes `count` bytes, and returns how long to wait before they may pass."""
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now - 0.01) + count / self._rate
            return max(0.0, self._free_at - now)


@dataclasses.dataclass
class Rule:
    """`share` of the requests that match meet the fault, after the first `skip` of them, at most
    `count` times, for `seconds` from when the rule was set."""

    fault: str
    parameters: dict
    method: str = ""  # "" is any
    path: str = ""  # a regular expression that the raw target contains
    ranged: bool | None = None  # whether there is a Range header
    share: float = 1.0
    skip: int = 0
    count: int | None = None
    seconds: float | None = None
    until: float = dataclasses.field(init=False, default=float("inf"))
    met: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        if self.seconds is not None:
            self.until = time.monotonic() + self.seconds
        if self.fault == "bandwidth":
            self.bucket = TokenBucket(self.parameters["bytes_per_s"])
        self._pattern = re.compile(self.path)

    def matches(self, head):
        return ((not self.method or head.first[0] == self.method)
                and (self.ranged is None or self.ranged == ("range" in head.headers))
                and (not self.path or self._pattern.search(head.first[1]) is not None))


def make_rule(text):
    """Makes a rule from a dictionary that has "fault", its parameters, and fields of Rule."""
    given = dict(text)
    fault = given.pop("fault", None)
    if fault not in FAULTS:
        raise ValueError(f"unknown fault: got {fault!r}, expected one of {', '.join(FAULTS)}")
    parameters = {name: given.pop(name, default) for name, default in FAULTS[fault].items()}
    missing = [name for name, value in parameters.items() if value is None]
    if missing:
        raise ValueError(f"{fault}: {', '.join(missing)} must be given")
    fields = {field.name for field in dataclasses.fields(Rule) if field.init} - {"parameters"}
    unknown = set(given) - fields
    if unknown:
        raise ValueError(f"{fault}: unknown: {', '.join(sorted(unknown))}; expected "
                         f"{', '.join((*parameters, *sorted(fields - {'fault'})))}")
    return Rule(fault, parameters, **given)


def answer_of(rule):
    """Returns the status, headers and body of a rule that answers by itself."""
    if rule.fault == "slow_down":
        return 503, {"content-type": "application/xml"}, _SLOW_DOWN
    if rule.fault == "too_many":
        return 429, {"retry-after": str(rule.parameters["retry_after_s"])}, "too many requests\n"
    found = rule.parameters
    return found["status"], found["headers"], found["body"]


class Rules:
    """The rules in force; safe for any number of threads. `seed` makes the choices repeatable."""

    def __init__(self, seed=1):
        self._lock = threading.Lock()
        self._random = random.Random(seed)
        self._rules, self._last = {}, 0

    def add(self, rule):
        with self._lock:
            self._last += 1
            self._rules[self._last] = rule
            return self._last

    def remove(self, number):
        with self._lock:
            return self._rules.pop(number, None)

    def clear(self):
        with self._lock:
            self._rules.clear()

    def outage(self):
        """Returns the outage that is in force, or None."""
        now = time.monotonic()
        with self._lock:
            return next((rule for rule in self._rules.values()
                         if rule.fault == "outage" and now < rule.until), None)

    @property
    def hanging(self):
        """Whether requests, also those under way, get no answer now."""
        if not self._rules:
            return False
        outage = self.outage()
        return outage is not None and outage.parameters["mode"] == "hang"

    def draw(self, head):
        """Returns (rules by fault that this request meets, seconds of latency)."""
        if not self._rules:
            return {}, 0.0
        met, latency_s = {}, 0.0
        with self._lock:
            now = time.monotonic()
            for rule in self._rules.values():
                if now >= rule.until or rule.fault == "outage" or not rule.matches(head):
                    continue
                if rule.share < 1 and self._random.random() >= rule.share:
                    continue
                rule.met += 1
                if rule.met <= rule.skip:
                    continue
                if rule.count is not None and rule.met > rule.skip + rule.count:
                    continue
                met.setdefault(rule.fault, rule)
                if rule.fault == "latency":
                    jitter = self._random.random() * rule.parameters["jitter_ms"]
                    latency_s += (rule.parameters["ms"] + jitter) / 1000
        return met, latency_s

    def place(self, count):
        """Returns a random number below `count`."""
        with self._lock:
            return self._random.randrange(count)

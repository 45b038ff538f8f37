"""One request through the fault proxy: to the store, back, and what the rules make of it."""
import re
import time

from . import faults, wire

BLOCK = 256 << 10
SLOW_BLOCK = 16 << 10  # while bandwidth is limited
_CHANGED = '"changed-'
_REASONS = {200: "OK", 206: "Partial Content", 301: "Moved Permanently", 307: "Temporary Redirect",
            412: "Precondition Failed", 429: "Too Many Requests", 500: "Internal Server Error",
            503: "Slow Down"}


class Ended(Exception):
    """The client's connection ends here, with a reset if `reset`."""

    def __init__(self, reset=False):
        super().__init__("the connection ends")
        self.reset = reset


def changed(etag):
    return _CHANGED + etag.lstrip('"')


def _range_of(headers):
    """Returns (first, last, size) of a Content-Range, or None."""
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", headers.get("content-range", ""))
    return tuple(int(part) for part in found.groups()) if found else None


class Body:
    """Changes the bytes of one response's body as they pass."""

    def __init__(self, met, rules, length, connection_buckets):
        self.cut, self.end_by = length, None
        self._met, self._at, self._pauses, self._corrupt = met, 0, None, None
        for fault in ("reset", "truncate"):
            if fault in met and met[fault].parameters["after_bytes"] <= length:
                self.cut, self.end_by = met[fault].parameters["after_bytes"], fault
        if "stall" in met and met["stall"].parameters["after_bytes"] < length:
            self._pauses = met["stall"].parameters["after_bytes"]
        if "corrupt" in met and length:
            at, count = met["corrupt"].parameters["at"], met["corrupt"].parameters["bytes"]
            at = rules.place(length) if at < 0 else at
            self._corrupt = range(at, at + count)
        self._bucket = None
        if "bandwidth" in met:
            rule = met["bandwidth"]
            self._bucket = rule.bucket
            if rule.parameters["per"] == "connection":
                self._bucket = connection_buckets.setdefault(
                    id(rule), faults.TokenBucket(rule.parameters["bytes_per_s"]))

    @property
    def block(self):
        """How much to pass on at a time."""
        if self._pauses is not None and self._at < self._pauses:
            return self._pauses - self._at
        return SLOW_BLOCK if self._bucket else BLOCK

    def before(self, block):
        """Changes a block, a memoryview, and waits as long as it should."""
        if self._pauses is not None and self._at >= self._pauses:
            self._pauses = None
            time.sleep(self._met["stall"].parameters["seconds"])
        if self._corrupt is not None:
            for place in self._corrupt:
                if self._at <= place < self._at + len(block):
                    block[place - self._at] ^= 0xFF
        if self._bucket:
            self._bucket.wait(len(block))
        self._at += len(block)


class Exchange:
    """Carries the requests of one client's connection, by one of its own to the store."""

    def __init__(self, client, connect, rules, counters):
        self._client, self._connect, self._upstream = client, connect, None
        self._rules, self._counters = rules, counters
        self._buckets = {}
        self._buffer = memoryview(bytearray(BLOCK))
        self.status, self.span, self.sent = 0, None, 0

    def close(self):
        if self._upstream:
            self._upstream.close()

    def carry(self, head):
        """Carries one request; returns whether the connection stays. Raises Ended or Broken."""
        arrived = time.monotonic()
        self.status, self.span, self.sent = 0, None, 0
        method = head.first[0]
        keep = not head.has("connection", "close") and head.first[-1] != "HTTP/1.0"
        body = self._request_body(head)
        met, latency_s = self._rules.draw(head)
        for fault in met:
            self._counters.fault(fault)
        if latency_s:
            time.sleep(max(0.0, arrived + latency_s - time.monotonic()))
        for fault in ("answer", "slow_down", "too_many"):
            if fault in met:
                self._answer(method, *faults.answer_of(met[fault]), keep)
                return keep and "close" not in met
        if "etag" in met and not self._etag_in_request(head):
            self._answer(method, 412, {}, "", keep)
            return keep
        if "ignore_range" in met:
            head.headers.pop("range", None)
        response = self._ask(head, body)
        self._respond(method, head, response, met, keep)
        return keep and "close" not in met

    def _request_body(self, head):
        if head.headers.pop("expect", "").lower() == "100-continue":
            self._client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if head.chunked:
            body = self._client.read_chunked()
            del head.headers["transfer-encoding"]
            head.headers["content-length"] = str(len(body))
            return body
        return self._client.read_exactly(head.length) if head.length else b""

    def _answer(self, method, status, headers, body, keep):
        data = body.encode() if isinstance(body, str) else body
        fixed = {"content-length": str(len(data)), "connection": "keep-alive" if keep else "close"}
        start = wire.Head(["HTTP/1.1", str(status), _REASONS.get(status, "Made")],
                          {**headers, **fixed}).bytes()
        self.status, self.sent = status, 0 if method == "HEAD" else len(data)
        self._client.send(start if method == "HEAD" else start + data)

    @staticmethod
    def _etag_in_request(head):
        """Translates If-Match; returns whether it names the changed ETag or none."""
        wanted = head.headers.get("if-match", "*")
        if wanted != "*" and not wanted.startswith(_CHANGED):
            return False
        if wanted != "*":
            head.headers["if-match"] = '"' + wanted[len(_CHANGED):]
        return True

    def _ask(self, head, body):
        """Sends a request to the store and returns the head of its response."""
        for attempt in (1, 2):
            fresh = self._upstream is None
            if fresh:
                self._upstream = self._connect()
            try:
                self._upstream.send(head.bytes() + body)
                while (response := self._upstream.read_head()) is not None:
                    if response.first[1] != "100":
                        return response
                raise wire.Broken("the store ended the connection")
            except wire.Broken:
                self._upstream.close()
                self._upstream = None
                if fresh or attempt == 2:
                    raise
        raise wire.Broken("unreachable")

    def _respond(self, method, head, response, met, keep):
        headers = response.headers
        whole = None  # a body that must be collected, because it has no length
        status = int(response.first[1])
        bare = method == "HEAD" or status in (204, 304)
        if not bare and response.chunked:
            whole = self._upstream.read_chunked()
        elif not bare and response.length is None:
            whole = b"".join(iter(lambda: self._upstream.read(BLOCK), b""))
            headers["connection"] = "close"
        if whole is not None:
            headers.pop("transfer-encoding", None)
            headers["content-length"] = str(len(whole))
        length = 0 if bare else response.length
        ends = headers.get("connection", "").lower() == "close"
        headers["connection"] = "keep-alive" if keep else "close"
        span = _range_of(headers)
        self.status = status
        if not bare and status in (200, 206) and head.first[1].count("/") > 1:
            self.span = span[:2] if span else (0, length - 1)
        skip, cut, pad = self._edit(response, met, span, length)
        start = response.bytes()
        if length == 0 or whole is not None:
            self._client.send(start + (whole or b""))
            self.sent = length
        else:
            self._relay(start, length, skip, cut, pad, Body(met, self._rules, length - cut,
                                                            self._buckets))
        if ends:
            self._upstream.close()
            self._upstream = None

    def _edit(self, response, met, span, length):
        """Edits the head; returns how many bytes of the body to leave out before and behind what
        is passed on, and how many invented ones to add behind it."""
        headers, skip, cut, pad = response.headers, 0, 0, 0
        if "etag" in met and "etag" in headers:
            headers["etag"] = changed(headers["etag"])
        if span:
            first, last, size = span
            if "content_range" in met:
                by = met["content_range"].parameters["by"]
                headers["content-range"] = f"bytes {first + by}-{last + by}/{size}"
            if "shifted" in met:
                by = skip = pad = min(length, abs(met["shifted"].parameters["by"]))
                if not met["shifted"].parameters["hidden"]:
                    headers["content-range"] = f"bytes {first + by}-{last + by}/{size}"
            if "short" in met:
                cut = min(length - 1, met["short"].parameters["by"])
                headers["content-range"] = f"bytes {first}-{last - cut}/{size}"
                headers["content-length"] = str(length - cut)
        if "status" in met:
            code = met["status"].parameters["code"]
            response.first[1:] = [str(code), _REASONS.get(code, "Made")]
            self.status = code
        return skip, cut, pad

    def _relay(self, start, length, skip, cut, pad, body):
        """Passes a body on: all of the store's is read, unless the connection ends."""
        self._client.send_more(start)
        left, passed = length, 0
        while left:
            count = self._upstream.read_into(self._buffer[:min(left, body.block)])
            left -= count
            block = self._buffer[:count]
            if skip:
                block, skip = block[min(skip, count):], max(0, skip - count)
            passed += self._pass(block[:max(0, length - cut - pad - passed)], body, passed)
        while pad:
            step = min(pad, BLOCK)
            self._buffer[:step] = bytes(step)
            self._pass(self._buffer[:step], body, passed)
            pad, passed = pad - step, passed + step
        if body.end_by:
            raise Ended(body.end_by == "reset")

    def _pass(self, block, body, passed):
        if not len(block):
            return 0
        if self._rules.hanging:
            self._rules.wait_for_end_of_outage()
            raise Ended
        body.before(block)
        over = passed + len(block) - body.cut
        if over > 0 and body.end_by:
            if over < len(block):
                self._client.send(block[:len(block) - over])
                self.sent += len(block) - over
            raise Ended(body.end_by == "reset")
        self._client.send(block)
        self.sent += len(block)
        return len(block)

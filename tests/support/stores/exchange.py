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
                bucket = faults.TokenBucket(rule.parameters["bytes_per_s"])
                _, self._bucket = connection_buckets.setdefault(id(rule), (rule, bucket))

    @property
    def block(self):
        """How much to pass on at a time."""
        if self._pauses is not None and self._at < self._pauses:
            return self._pauses - self._at
        return SLOW_BLOCK if self._bucket else BLOCK

    def pause_s(self):
        """Returns how long to be silent before the next block."""
        if self._pauses is None or self._at < self._pauses:
            return 0
        self._pauses = None
        return self._met["stall"].parameters["seconds"]

    def change(self, block):
        """Changes a block, a memoryview, and returns how long to wait before it is sent."""
        if self._corrupt is not None:
            for place in self._corrupt:
                if self._at <= place < self._at + len(block):
                    block[place - self._at] ^= 0xFF
        self._at += len(block)
        return self._bucket.delay_s(len(block)) if self._bucket else 0


class Exchange:
    """Carries the requests of one client's connection, by one of its own to the store."""

    def __init__(self, client, connect, rules, counters):
        self._client, self._connect, self._upstream = client, connect, None
        self._rules, self._counters = rules, counters
        self._buckets, self._start = {}, b""
        self._buffer = memoryview(bytearray(BLOCK))
        self.status, self.span, self.sent = 0, None, 0

    def close(self):
        if self._upstream:
            self._upstream.close()

    async def carry(self, head):
        """Carries one request; returns whether the connection stays. Raises Ended or Broken."""
        arrived = time.monotonic()
        self.status, self.span, self.sent = 0, None, 0
        method = head.first[0]
        keep = not head.has("connection", "close") and head.first[-1] != "HTTP/1.0"
        body = await self._request_body(head)
        met, latency_s = self._rules.draw(head)
        for fault in met:
            self._counters.fault(fault)
        if latency_s:
            await self._client.sleep_until(arrived + latency_s)
        for fault in ("answer", "slow_down", "too_many"):
            if fault in met:
                await self._answer(method, *faults.answer_of(met[fault]), keep)
                return keep and "close" not in met
        if "etag" in met and not self._etag_in_request(head):
            await self._answer(method, 412, {}, "", keep)
            return keep
        if "ignore_range" in met:
            head.headers.pop("range", None)
        response = await self._ask(head, body)
        await self._respond(method, head, response, met, keep)
        return keep and "close" not in met

    async def hang(self):
        """Gives no answer until the outage ends, and then closes the connection."""
        while self._rules.outage() is not None:
            await self._client.sleep_until(time.monotonic() + 2 * wire.LOOK_S)
        raise Ended

    async def _request_body(self, head):
        if head.headers.pop("expect", "").lower() == "100-continue":
            await self._client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if head.chunked:
            body = await self._client.read_chunked()
            del head.headers["transfer-encoding"]
            head.headers["content-length"] = str(len(body))
            return body
        return await self._client.read_exactly(head.length) if head.length else b""

    async def _answer(self, method, status, headers, body, keep):
        data = body.encode() if isinstance(body, str) else body
        fixed = {"content-length": str(len(data)), "connection": "keep-alive" if keep else "close"}
        start = wire.Head(["HTTP/1.1", str(status), _REASONS.get(status, "Made")],
                          {**headers, **fixed}).bytes()
        self.status, self.sent = status, 0 if method == "HEAD" else len(data)
        await self._client.send(start if method == "HEAD" else start + data)

    @staticmethod
    def _etag_in_request(head):
        """Translates If-Match; returns whether it names the changed ETag or none."""
        wanted = head.headers.get("if-match", "*")
        if wanted != "*" and not wanted.startswith(_CHANGED):
            return False
        if wanted != "*":
            head.headers["if-match"] = '"' + wanted[len(_CHANGED):]
        return True

    async def _ask(self, head, body):
        """Sends a request to the store and returns the head of its response."""
        for attempt in (1, 2):
            fresh = self._upstream is None
            if fresh:
                self._upstream = await self._connect()
            try:
                await self._upstream.send(head.bytes() + body)
                while (response := await self._upstream.read_head()) is not None:
                    if response.first[1] != "100":
                        return response
                raise wire.Broken("the store ended the connection")
            except wire.Broken:
                self._upstream.close()
                self._upstream = None
                if fresh or attempt == 2:
                    raise
        raise wire.Broken("unreachable")

    async def _respond(self, method, head, response, met, keep):
        headers = response.headers
        whole = None  # a body that must be collected, because it has no length
        status = int(response.first[1])
        bare = method == "HEAD" or status in (204, 304)
        if not bare and response.chunked:
            whole = await self._upstream.read_chunked()
        elif not bare and response.length is None:
            whole = await self._upstream.read_to_end()
            headers["connection"] = "close"
        if whole is not None:
            headers.pop("transfer-encoding", None)
            headers["content-length"] = str(len(whole))
        length = 0 if bare else response.length
        ends = headers.get("connection", "").lower() == "close"
        headers["connection"] = "keep-alive" if keep else "close"
        span = _range_of(headers)
        self.status = status
        if method == "GET" and status in (200, 206) and not head.first[1].startswith("/?"):
            self.span = span[:2] if span else (0, length - 1)
        skip, cut, pad = self._edit(response, met, span, length)
        start = response.bytes()
        if length == 0:
            await self._client.send(start)
        else:
            source = self._upstream if whole is None else wire.Collected(whole)
            body = Body(met, self._rules, length - cut, self._buckets)
            await self._relay(start, source, length, skip, cut, pad, body)
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

    async def _relay(self, start, source, length, skip, cut, pad, body):
        """Passes a body on: all of `source` is read, unless the connection ends."""
        self._start = start
        left, passed = length, 0
        while left:
            count = await source.read_into(self._buffer[:min(left, body.block)])
            left -= count
            block = self._buffer[:count]
            if skip:
                block, skip = block[min(skip, count):], max(0, skip - count)
            passed += await self._pass(block[:max(0, length - cut - pad - passed)], body, passed)
        while pad:
            step = min(pad, BLOCK)
            self._buffer[:step] = bytes(step)
            await self._pass(self._buffer[:step], body, passed)
            pad, passed = pad - step, passed + step
        if body.end_by:
            await self._send(b"")
            raise Ended(body.end_by == "reset")

    async def _send(self, block):
        """Sends a block of the body, behind the head if that has not been sent."""
        if self._start:
            await self._client.send_both(self._start, block)
            self._start = b""
        elif len(block):
            await self._client.send(block)
        self.sent += len(block)

    async def _pass(self, block, body, passed):
        if not len(block):
            return 0
        if self._rules.hanging:
            await self.hang()
        if pause_s := body.pause_s():
            await self._send(b"")
            await self._client.sleep_until(time.monotonic() + pause_s)
        if wait_s := body.change(block):
            await self._client.sleep_until(time.monotonic() + wait_s)
        over = passed + len(block) - body.cut
        if over > 0 and body.end_by:
            await self._send(block[:max(0, len(block) - over)])
            raise Ended(body.end_by == "reset")
        await self._send(block)
        return len(block)

"""HTTP/1.1 on the sockets of a loop, as little of it as the file server and the proxy need."""
import contextlib
import os
import socket
import ssl
import struct
import time

IDLE_S = 120
LOOK_S = 0.25
MAX_HEAD_BYTES = 64 << 10
HEAD_READ = 16 << 10
TLS_READ = 256 << 10
SENDFILE = 1 << 20  # at a time, for fairness
MAX_COLLECTED_BYTES = 64 << 20
WAITS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Broken(Exception):
    """The peer is gone, is silent for too long, or does not speak HTTP."""


class Head:
    """A request's or response's first line and headers. Names of headers are in lower case."""

    __slots__ = ("first", "headers")

    def __init__(self, first, headers):
        self.first, self.headers = first, headers

    @classmethod
    def parse(cls, data):
        lines = data.decode("latin-1").split("\r\n")
        first = lines[0].split(" ", 2)
        if len(first) < 2:
            raise Broken(f"not HTTP: {lines[0][:80]!r}")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return cls(first, headers)

    def bytes(self):
        lines = [" ".join(self.first)]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    @property
    def length(self):
        """The announced length of the body, or None."""
        value = self.headers.get("content-length")
        return int(value) if value is not None and value.isdigit() else None

    @property
    def chunked(self):
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    def has(self, name, word):
        return word in self.headers.get(name, "").lower()


class Collected:
    """A body in memory, read as from a connection."""

    def __init__(self, data):
        self._rest = memoryview(data)

    async def read_into(self, buffer):
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class Connection:
    """A watched socket with what was read from it too early. Used by one task at a time."""

    def __init__(self, loop, sock, idle_s=IDLE_S):
        self.sock, self._loop, self._idle_s = sock, loop, idle_s
        self._watch = loop.watch(sock)
        self._early = b""

    async def _wait(self):
        if not await self._loop.ready(self._watch, self._idle_s):
            raise Broken(f"nothing happened for {self._idle_s} s")

    async def _do(self, action, *arguments):
        """Calls a function of the socket until it would not wait."""
        while True:
            try:
                return action(*arguments)
            except WAITS:
                await self._wait()
            except (OSError, ValueError) as error:
                raise Broken(str(error)) from None

    async def handshake(self):
        await self._do(self.sock.do_handshake)

    async def read_head(self):
        """Returns the next head, or None at an orderly end before it."""
        data = self._early
        while (end := data.find(b"\r\n\r\n")) < 0:
            if len(data) > MAX_HEAD_BYTES:
                raise Broken("the head is too long")
            more = await self._do(self.sock.recv, HEAD_READ)
            if not more:
                if data:
                    raise Broken("the connection ended in a head")
                return None
            data += more
        self._early = data[end + 4:]
        return Head.parse(data[:end])

    async def read(self, most):
        """Returns 1 to `most` bytes, or b"" at the end."""
        if self._early:
            data, self._early = self._early[:most], self._early[most:]
            return data
        return await self._do(self.sock.recv, most)

    async def read_into(self, buffer):
        """Reads at least a byte into a memoryview; returns how many. The end is an error."""
        if self._early:
            data = await self.read(len(buffer))
            count = len(data)
            buffer[:count] = data
            if count < len(buffer):
                with contextlib.suppress(OSError):  # what is there already
                    count += self.sock.recv_into(buffer[count:])
            return count
        count = await self._do(self.sock.recv_into, buffer)
        if not count:
            raise Broken("the connection ended in a body")
        return count

    async def read_exactly(self, count):
        parts = []
        while count:
            part = await self.read(min(count, 1 << 20))
            if not part:
                raise Broken("the connection ended in a body")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    async def read_to_end(self):
        parts = []
        while part := await self.read(1 << 20):
            parts.append(part)
        return b"".join(parts)

    async def _read_line(self):
        while (end := self._early.find(b"\r\n")) < 0:
            more = await self._do(self.sock.recv, HEAD_READ)
            if not more or len(self._early) > MAX_HEAD_BYTES:
                raise Broken("the connection ended in a line")
            self._early += more
        line, self._early = self._early[:end], self._early[end + 2:]
        return line

    async def read_chunked(self):
        """Returns a whole body in chunks, without its framing and trailers."""
        parts, total = [], 0
        while size := self._chunk_size(await self._read_line()):
            total += size
            if total > MAX_COLLECTED_BYTES:
                raise Broken("the chunked body is too long")
            parts.append(await self.read_exactly(size))
            await self.read_exactly(2)
        while await self._read_line():
            pass
        return b"".join(parts)

    @staticmethod
    def _chunk_size(line):
        try:
            return int(line.partition(b";")[0], 16)
        except ValueError:
            raise Broken(f"not the size of a chunk: {line[:80]!r}") from None

    async def send(self, data):
        """Sends all of a buffer."""
        sent = await self._do(self.sock.send, data)
        if sent < len(data):
            rest = memoryview(data)[sent:]
            while len(rest):
                rest = rest[await self._do(self.sock.send, rest):]

    async def send_both(self, head, body):
        """Sends two buffers, at best by one call."""
        if isinstance(self.sock, ssl.SSLSocket):
            await self.send(b"".join((head, body)))
            return
        sent = await self._do(self.sock.sendmsg, [head, body])
        if sent < len(head):
            await self.send(head[sent:])
        if sent < len(head) + len(body):
            await self.send(memoryview(body)[max(0, sent - len(head)):])

    async def send_file(self, head, descriptor, offset, count):
        """Sends `head` and then a part of a file; yields what was sent of it so far."""
        end, first = offset + count, offset
        secure = isinstance(self.sock, ssl.SSLSocket)
        if head and not secure:
            sent = await self._do(self.sock.send, head, socket.MSG_MORE)
            if sent < len(head):
                await self.send(head[sent:])
        while offset < end:
            if secure:
                block = os.pread(descriptor, min(end - offset, TLS_READ), offset)
                await self.send(head + block)
                head, step = b"", len(block)
            else:
                step = await self._do(os.sendfile, self.sock.fileno(), descriptor, offset,
                                      min(end - offset, SENDFILE))
            if not step:
                raise Broken("the file became shorter")
            offset += step
            yield offset - first

    async def sleep_until(self, moment):
        """Sleeps unless the peer goes, which is noticed within LOOK_S."""
        while (left := moment - time.monotonic()) > 0:
            await self._loop.sleep(min(left, LOOK_S))
            if left > LOOK_S and self._gone():
                raise Broken("the peer is gone")

    def _gone(self):
        try:
            return not socket.socket.recv(self.sock, 1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def reset(self):
        """Closes the connection with a TCP reset."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("@ii", 1, 0))
        self.close()

    def close(self):
        self._loop.forget(self.sock)
        self.sock.close()

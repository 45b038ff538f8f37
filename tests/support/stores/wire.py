"""HTTP/1.1 on blocking sockets, as little of it as the file server and the proxy need."""
import socket
import ssl
import struct

MAX_HEAD_BYTES = 64 << 10
MAX_COLLECTED_BYTES = 64 << 20


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


def tune(sock, seconds):
    """Sends at once, and gives up on a peer that is silent for so many seconds."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    timeout = struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)


def reset(sock):
    """Closes a connection with a TCP reset."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("@ii", 1, 0))
    finally:
        sock.close()


class Connection:
    """A socket with what was read from it too early. Used by one thread at a time."""

    def __init__(self, sock):
        self.sock = sock
        self._early = b""

    def _recv(self, most):
        try:
            return self.sock.recv(most)
        except (OSError, ValueError) as error:
            raise Broken(str(error)) from None

    def read_head(self):
        """Returns the next head, or None at an orderly end before it."""
        data = self._early
        while (end := data.find(b"\r\n\r\n")) < 0:
            if len(data) > MAX_HEAD_BYTES:
                raise Broken("the head is too long")
            more = self._recv(64 << 10)
            if not more:
                if data:
                    raise Broken("the connection ended in a head")
                return None
            data += more
        self._early = data[end + 4:]
        return Head.parse(data[:end])

    def read(self, most):
        """Returns 1 to `most` bytes, or b"" at the end."""
        if self._early:
            data, self._early = self._early[:most], self._early[most:]
            return data
        return self._recv(most)

    def read_exactly(self, count):
        parts = []
        while count:
            part = self.read(min(count, 1 << 20))
            if not part:
                raise Broken("the connection ended in a body")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def read_line(self):
        while (end := self._early.find(b"\r\n")) < 0:
            more = self._recv(64 << 10)
            if not more or len(self._early) > MAX_HEAD_BYTES:
                raise Broken("the connection ended in a line")
            self._early += more
        line, self._early = self._early[:end], self._early[end + 2:]
        return line

    def read_chunked(self):
        """Returns a whole body in chunks, without its framing and trailers."""
        parts, total = [], 0
        while size := int(self.read_line().partition(b";")[0], 16):
            total += size
            if total > MAX_COLLECTED_BYTES:
                raise Broken("the chunked body is too long")
            parts.append(self.read_exactly(size))
            self.read_exactly(2)
        while self.read_line():
            pass
        return b"".join(parts)

    def read_into(self, buffer):
        """Reads at least a byte into a memoryview; returns how many. The end is an error."""
        if self._early:
            data = self.read(len(buffer))
            buffer[:len(data)] = data
            return len(data)
        try:
            count = self.sock.recv_into(buffer)
        except (OSError, ValueError) as error:
            raise Broken(str(error)) from None
        if not count:
            raise Broken("the connection ended in a body")
        return count

    def send_more(self, data):
        """Sends what more will follow at once."""
        if isinstance(self.sock, ssl.SSLSocket):
            self.send(data)
            return
        try:
            self.sock.sendall(data, socket.MSG_MORE)
        except (OSError, ValueError) as error:
            raise Broken(str(error)) from None

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (OSError, ValueError) as error:
            raise Broken(str(error)) from None

    def close(self):
        self.sock.close()

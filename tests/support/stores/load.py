"""Reads ranges by many connections from one thread, and measures: for tests of the rig itself.

`stores measure` prints what the servers and the proxy carry on this machine.
"""
import argparse
import os
import selectors
import socket
import statistics
import tempfile
import time

from . import fault_proxy, servers

_MASK = selectors.EVENT_READ


class _Reader:
    """One connection that sends one request after another."""

    def __init__(self, address, take):
        self._take, self._left, self._head = take, 0, b""
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.begun = 0.0

    def ask(self):
        """Sends the next request; returns whether there was one."""
        request = self._take()
        if request is None:
            return False
        path, first, last = request
        self.begun = time.perf_counter()
        self.sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nRange: bytes={first}-{last}\r\n\r\n"
                          .encode())
        self._left, self._head = -1, b""
        return True

    def read(self, buffer):
        """Reads once; returns the bytes of the body, and whether it is complete."""
        count = self.sock.recv_into(buffer)
        if not count:
            raise ConnectionError("the connection ended")
        if self._left < 0:
            self._head += bytes(buffer[:count])
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return 0, False
            head = self._head[:end].lower()
            if b" 206 " not in head[:20]:
                raise ConnectionError(f"unexpected response: {head[:80]!r}")
            at = head.index(b"content-length:") + 15
            self._left = int(head[at:].split(b"\r\n", 1)[0])
            count = len(self._head) - end - 4
        self._left -= count
        return count, self._left == 0


def read_all(address, requests, connections):
    """Reads all of `requests`, (path, first, last), and returns the seconds, the bytes of bodies,
    and the sorted seconds of each request."""
    queue = iter(requests)
    buffer = memoryview(bytearray(1 << 20))
    latencies, total, begun = [], 0, time.perf_counter()
    with selectors.EpollSelector() as selector:
        readers = [_Reader(address, lambda: next(queue, None)) for _ in range(connections)]
        for reader in readers:
            if reader.ask():
                selector.register(reader.sock, _MASK, reader)
        while selector.get_map():
            for event, _ in selector.select(30) or [(None, 0)]:
                if event is None:
                    raise TimeoutError("nothing came for 30 s")
                count, complete = event.data.read(buffer)
                total += count
                if complete:
                    latencies.append(time.perf_counter() - event.data.begun)
                    if not event.data.ask():
                        selector.unregister(event.data.sock)
    for reader in readers:
        reader.sock.close()
    return time.perf_counter() - begun, total, sorted(latencies)


def cpu_seconds(process_id):
    """The CPU time that a process has used."""
    with open(f"/proc/{process_id}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _print(what, measured, used=None):
    seconds, total, latencies = measured
    text = (f"{what}: {len(latencies) / seconds:,.0f} requests/s, {total / seconds / 1e6:,.0f} MB/s"
            f", median {statistics.median(latencies) * 1e3:.2f} ms, p99 "
            f"{latencies[len(latencies) * 99 // 100] * 1e3:.2f} ms")
    if used:
        text += f"; {total / used / 1e6:,.0f} MB per CPU second, {used / len(latencies) * 1e6:.0f} µs"
    print(text, flush=True)


def main(arguments):
    argparse.ArgumentParser(prog="stores measure", description=__doc__).parse_args(arguments)
    spread = [("/b/big", at, at + (110 << 10) - 1) for at in range(0, 8000 * (128 << 10), 128 << 10)]
    with servers.FileStore(s3=False) as store, tempfile.NamedTemporaryFile() as file:
        for _ in range(256):
            file.write(os.urandom(1 << 20))
        file.flush()
        store.put_pattern("b", "big", 50 << 30)
        store.put("b", "file", file.name)
        pid = store.process_id
        for name, what in (("big", "pattern"), ("file", "file")):
            used = cpu_seconds(pid)
            whole = read_all(store.address, [(f"/b/{name}", 0, (256 << 20) - 1)] * 16, 4)
            _print(f"server, {what}, 256 MiB by 4 connections", whole, cpu_seconds(pid) - used)
        used = cpu_seconds(pid)
        _print("server, 110 KiB by 64", read_all(store.address, spread, 64), cpu_seconds(pid) - used)
        used = cpu_seconds(pid)
        small = [("/b/big", at, at + 99) for at in range(8000)]
        _print("server, 100 B by 64", read_all(store.address, small, 64), cpu_seconds(pid) - used)
        with fault_proxy.FaultProxy(store.address) as proxy:
            pid = proxy.process_id
            used = cpu_seconds(pid)
            whole = read_all(proxy.address, [("/b/big", 0, (64 << 20) - 1)] * 16, 4)
            _print("proxy, 64 MiB by 4", whole, cpu_seconds(pid) - used)
            proxy.add("latency", ms=30)
            for connections in (1, 16, 300):
                used = cpu_seconds(pid)
                part = spread[:40 * connections] if connections < 300 else spread
                _print(f"proxy at 30 ms, 110 KiB by {connections}",
                       read_all(proxy.address, part, connections), cpu_seconds(pid) - used)

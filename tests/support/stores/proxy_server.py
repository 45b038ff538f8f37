"""The process of the fault proxy; `fault_proxy.FaultProxy` starts it. One thread serves one
connection, by one connection of its own to the store."""
import argparse
import contextlib
import json
import resource
import socket
import ssl
import sys
import threading
import time

from . import control, counters, exchange, faults, wire

IDLE_S = 120
MAX_CONNECTIONS = 4096
REOPEN_S = 10


class Proxy:
    """Accepts connections, except in an outage, and carries their requests."""

    def __init__(self, to, context, seed):
        self._to, self._context = to, context
        self.rules, self.counters = faults.Rules(seed), counters.Counters()
        self._lock, self._sockets = threading.Lock(), set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        self._permits = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def accept(self):
        """Accepts connections for as long as the process lives."""
        while True:
            self._permits.acquire()
            try:
                sock, _ = self._listener.accept()
            except OSError:
                self._permits.release()
                if self._refusing():
                    self._wait_and_reopen()
                else:
                    time.sleep(0.01)  # out of descriptors
                continue
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _refusing(self):
        outage = self.rules.outage()
        return outage is not None and outage.parameters["mode"] == "refuse"

    def _wait_and_reopen(self):
        self._listener.close()
        while self._refusing():
            time.sleep(0.005)
        deadline = time.monotonic() + REOPEN_S
        while True:
            try:
                self._listener = socket.create_server(("127.0.0.1", self.port), backlog=1024)
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def add(self, text):
        rule = faults.make_rule(text)
        number = self.rules.add(rule)
        if rule.fault == "outage" and rule.parameters["mode"] == "refuse":
            with self._lock:
                sockets = list(self._sockets)
            for sock in (self._listener, *sockets):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        return {"rule": number}

    def _connect(self):
        try:
            sock = socket.create_connection(self._to, timeout=IDLE_S)
        except OSError as error:
            raise wire.Broken(str(error)) from None
        sock.settimeout(None)
        wire.tune(sock, IDLE_S)
        return wire.Connection(sock)

    def _serve(self, plain):
        sock = plain
        with self._lock:
            self._sockets.add(plain)
        self.counters.connected()
        carrying = None
        try:
            wire.tune(plain, IDLE_S)
            if self._context:
                sock = self._context.wrap_socket(plain, server_side=True)
                with self._lock:
                    self._sockets.discard(plain)
                    self._sockets.add(sock)
            client = wire.Connection(sock)
            carrying = exchange.Exchange(client, self._connect, self.rules, self.counters)
            while (head := client.read_head()) is not None and self._carry(carrying, head):
                pass
        except exchange.Ended as ended:
            if ended.reset:
                wire.reset(sock)
        except (wire.Broken, OSError):
            pass
        finally:
            with self._lock:
                self._sockets.discard(sock)
                self._sockets.discard(plain)
            sock.close()
            if carrying:
                carrying.close()
            self.counters.disconnected()
            self._permits.release()

    def _carry(self, carrying, head):
        kind, name = counters.kind_of(head.first[0], head.first[1])
        self.counters.begin()
        try:
            if self.rules.hanging:
                self.counters.fault("outage")
                self.rules.wait_for_end_of_outage()
                raise exchange.Ended
            return carrying.carry(head)
        finally:
            self.counters.end(kind, carrying.status, name, carrying.span, carrying.sent)

    def actions(self):
        def delete(_, number=None):
            if number is None:
                self.rules.clear()
            elif self.rules.remove(int(number)) is None:
                raise LookupError(f"no rule {number}")

        return {
            "POST /rules": self.add,
            "DELETE /rules": delete,
            "GET /counts": lambda _: self.counters.read(),
            "POST /reset": lambda _: self.counters.reset(),
        }


def main(arguments):
    parser = argparse.ArgumentParser(prog="stores proxy", description=__doc__)
    parser.add_argument("--to", required=True, metavar="HOST:PORT", help="the store's address")
    parser.add_argument("--certificate", help="PEM file with certificate and key: use TLS")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of requests")
    options = parser.parse_args(arguments)
    host, _, port = options.to.rpartition(":")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.setswitchinterval(0.0005)
    threading.stack_size(256 << 10)
    context = None
    if options.certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.certificate)
    proxy = Proxy((host, int(port)), context, options.seed)
    print(json.dumps({"port": proxy.port, "control": control.serve(proxy.actions())}), flush=True)
    proxy.accept()

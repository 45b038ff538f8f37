"""The process of the fault proxy; `fault_proxy.FaultProxy` starts it. Each client's connection
has one of its own to the store."""
import argparse
import json
import socket
import threading
import time

from . import certificates, control, counters, exchange, faults, loop, processes, wire

CONNECT_S = 5
REOPEN_S = 10


class Proxy:
    """Accepts connections, except in an outage, and carries their requests."""

    def __init__(self, to, context, seed, host="127.0.0.1"):
        self._to, self._context, self._host = to, context, host
        self.rules, self.counters = faults.Rules(seed), counters.Counters()
        self._loop, self._open = loop.Loop(), set()
        self._listener = socket.create_server((host, 0), backlog=1024)
        self.port = self._listener.getsockname()[1]

    def run(self):
        self._loop.spawn(self._accept())
        self._loop.run()

    async def _accept(self):
        watch = self._loop.watch(self._listener)
        await loop.accept(self._loop, self._listener, watch, self._serve)

    def _refusing(self):
        outage = self.rules.outage()
        return outage is not None and outage.parameters["mode"] == "refuse"

    def _refuse(self):
        """Closes the listener and all connections; opens it again after the outage."""
        if self._listener.fileno() < 0:
            return
        self._loop.forget(self._listener)
        self._listener.close()
        for client in list(self._open):
            client.reset()
        self._loop.spawn(self._reopen())

    async def _reopen(self):
        while self._refusing():
            await self._loop.sleep(0.005)
        deadline = time.monotonic() + REOPEN_S
        while True:
            try:
                self._listener = socket.create_server((self._host, self.port), backlog=1024)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                await self._loop.sleep(0.01)
        await self._accept()

    def add(self, text):
        rule = faults.make_rule(text)
        number = self.rules.add(rule)
        if rule.fault == "outage" and rule.parameters["mode"] == "refuse":
            done = threading.Event()
            self._loop.post(lambda: (self._refuse(), done.set()))
            done.wait(REOPEN_S)
        return {"rule": number}

    async def _connect(self):
        try:
            sock = socket.create_connection(self._to, timeout=CONNECT_S)
        except OSError as error:
            raise wire.Broken(str(error)) from None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return wire.Connection(self._loop, sock)

    async def _serve(self, sock):
        self.counters.connected()
        if self._context:
            sock = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        client = wire.Connection(self._loop, sock)
        self._open.add(client)
        carrying = exchange.Exchange(client, self._connect, self.rules, self.counters)
        try:
            if self._context:
                await client.handshake()
            while (head := await client.read_head()) is not None:
                if not await self._carry(carrying, head):
                    break
        except exchange.Ended as ended:
            if ended.reset:
                client.reset()
        except wire.Broken:
            pass
        finally:
            self._open.discard(client)
            client.close()
            carrying.close()
            self.counters.disconnected()

    async def _carry(self, carrying, head):
        kind, name = counters.kind_of(head.first[0], head.first[1])
        self.counters.begin()
        try:
            if self.rules.hanging:
                self.counters.fault("outage")
                await carrying.hang()
            return await carrying.carry(head)
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
    parser.add_argument("--listen", default="127.0.0.1", metavar="HOST", help="where clients connect")
    parser.add_argument("--certificate", help="PEM file with certificate and key: use TLS")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of requests")
    options = parser.parse_args(arguments)
    host, _, port = options.to.rpartition(":")
    processes.take_all_descriptors()
    context = certificates.load_context(options.certificate)
    proxy = Proxy((host, int(port)), context, options.seed, options.listen)
    print(json.dumps({"port": proxy.port, "control": control.serve(proxy.actions())}), flush=True)
    proxy.run()

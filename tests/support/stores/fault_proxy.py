"""A proxy that makes faults, in front of any store, as a process of its own.

    with fault_proxy.FaultProxy(store.address) as proxy:
        proxy.add("latency", ms=30)
        rule = proxy.add("slow_down", share=0.2, seconds=5, method="GET")
        ...proxy.endpoint, proxy.counts()
        proxy.remove(rule)

`faults` lists the faults and the fields of a rule. Other languages use the control port, which
`stores proxy --to HOST:PORT` prints with the proxy's own:

    curl -d '{"fault": "latency", "ms": 30}' http://127.0.0.1:CONTROL/rules     # {"rule": 1}
    curl -X DELETE http://127.0.0.1:CONTROL/rules/1                             # or /rules: all
    curl http://127.0.0.1:CONTROL/counts
    curl -d '' http://127.0.0.1:CONTROL/reset
"""
from . import control, processes


class FaultProxy:
    """`address` is (host, port) of the store. With `certificate`, the proxy speaks TLS to clients;
    to the store it never does. `listen`: an address of this machine, for clients in other network
    namespaces."""

    def __init__(self, address, certificate=None, seed=1, listen="127.0.0.1"):
        arguments = ["proxy", "--to", f"{address[0]}:{address[1]}", "--seed", seed, "--listen", listen]
        if certificate:
            arguments += ["--certificate", certificate.server]
        self._process, said = processes.start_own(*arguments)
        self.address, self.control = (listen, said["port"]), said["control"]
        self.endpoint = f"{'https' if certificate else 'http'}://{listen}:{said['port']}"

    @property
    def process_id(self):
        return self._process.pid

    def add(self, fault, **fields):
        """Sets a rule, which holds from now on; returns its number."""
        return control.call(self.control, "POST", "/rules", {"fault": fault, **fields})["rule"]

    def remove(self, rule):
        control.call(self.control, "DELETE", f"/rules/{rule}")

    def clear(self):
        control.call(self.control, "DELETE", "/rules")

    def counts(self):
        """As `servers.FileStore.counts`, and faults: how often each was made."""
        return control.call(self.control, "GET", "/counts")

    def reset_counts(self):
        control.call(self.control, "POST", "/reset")

    def close(self):
        processes.end(self._process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

"""A daemon with a configuration of its own, for one comparison."""
import contextlib
import json
import os
import subprocess
import tempfile
import time

_CONFIG = """
server: {{socket: {folder}/run/penstock.sock, group: "", state_dir: {folder}}}
workers: {{count: {workers}}}
pool: {{max: 2GiB}}
datasets:
  - name: photographs
    folder: {data}
"""


@contextlib.contextmanager
def running(data, workers):
    """Runs a daemon that serves the folder `data` as "photographs"; yields its address and process number."""
    from ..__main__ import _program
    program = _program("penstockd")
    if program is None:
        raise SystemExit("penstock: penstockd was not found; install it, or set PENSTOCK_DAEMON to its path")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        address, config = os.path.join(folder, "run", "penstock.sock"), os.path.join(folder, "penstock.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(_CONFIG.format(folder=folder, workers=workers, data=json.dumps(data)))
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            daemon = subprocess.Popen([program, "--config", config], stderr=log)
            try:
                _await_ready(daemon, log.name)
                yield {"address": address, "daemon": daemon.pid}
            finally:
                daemon.terminate()
                daemon.wait()


def _await_ready(daemon, log):
    deadline = time.monotonic() + 30
    while "event=serving" not in _text(log):
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("penstock: the daemon did not start; its log:\n" + _text(log))
        time.sleep(0.01)


def _text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()

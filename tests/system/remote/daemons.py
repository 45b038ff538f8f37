"""Starts daemons with an operators' port, and calls penstockctl."""
import pathlib
import socket
import subprocess
import time

START_S = 20


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Daemon:
    """A daemon with one synthetic dataset. `tls`: a folder with tls.crt, tls.key and ca.crt."""

    def __init__(self, programs, folder, tls, client_ca):
        self.programs, self.folder = pathlib.Path(programs), pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.address = f"localhost:{self.port}"
        self.socket = self.folder / "run/penstock.sock"
        self.log = self.folder / "log"
        self.config = self.folder / "penstock.yaml"
        self.config.write_text(f"""
server:
  socket: {self.socket}
  group: ""
  state_dir: ""
  drain_for: 0s
  admin_address: 127.0.0.1:{self.port}
  admin_certificate: {tls}/tls.crt
  admin_key: {tls}/tls.key
  admin_client_ca: {client_ca}
pool: {{max: 64MiB}}
workers: {{count: 1}}
datasets: [{{name: noise, synthetic: {{}}}}]
""")
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.programs / "penstockd", "--config", self.config], stderr=log)
        deadline = time.monotonic() + START_S
        while "event=serving" not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("the daemon does not serve: " + self.text())
            time.sleep(0.02)
        return self

    def text(self):
        return self.log.read_text() if self.log.exists() else ""

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=20)


def ctl(programs, *arguments, timeout=30):
    """Runs penstockctl; returns its exit code, output and error."""
    done = subprocess.run([pathlib.Path(programs) / "penstockctl", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr

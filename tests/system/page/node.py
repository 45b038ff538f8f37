"""Runs a daemon with its page, and trainers, in a temporary folder."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Node:
    """Stops everything when the `with` block ends."""

    def __init__(self, programs, photographs=120, detail="full", config="workers: {count: 1}", preload=None,
                 pictures=False, change=None):
        """`change(folder)` is called once the photographs are there."""
        self.programs = pathlib.Path(programs)
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-page-")))
        self.photographs = self.folder / "photographs"
        self.address = self.folder / "run/penstock.sock"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = dict(os.environ)
        if preload:
            self.environment |= {"LD_PRELOAD": str(preload), "PENSTOCK_TEST_FOLDER": str(self.photographs)}
        try:
            subprocess.run([self.programs / "penstock-make-photographs", self.photographs, "--images", str(photographs)],
                           check=True, stdout=subprocess.DEVNULL)
            if change:
                change(self.photographs)
            self.file = self.folder / "penstock.yaml"
            self.file.write_text(f"""
server: {{socket: {self.address}, group: '', state_dir: '', metrics_address: '127.0.0.1:{self.port}',
         status_page: {detail}, bad_sample_pictures: {str(pictures).lower()}, drain_for: 60s}}
pool: {{max: 256MiB}}
limits: {{max_quarantined: 50%}}
{config}
datasets:
  - {{name: photographs, folder: {self.photographs}}}
  - {{name: noise, synthetic: {{}}}}
""")
            self.start()
        except BaseException:
            self.stack.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self):
        self.daemon = self.spawn("penstockd", "--config", self.file)
        end = time.monotonic() + 30
        while time.monotonic() < end and self.daemon.poll() is None:
            with contextlib.suppress(OSError):
                if self.json("/status.json")["status"]["serving"]:
                    return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "penstockd.log").read_text())

    def spawn(self, program, *arguments):
        with open(self.folder / f"{program}.log", "ab") as log:
            process = subprocess.Popen([self.programs / program, *map(str, arguments)], stdout=log, stderr=log,
                                       env=self.environment if program == "penstockd" else os.environ)
        self.stack.callback(self.end, process)
        return process

    @staticmethod
    def end(process, how=signal.SIGKILL):
        process.send_signal(signal.SIGCONT)
        process.send_signal(how)
        process.wait(20)

    def trainer(self, *arguments, dataset="photographs", epochs=1000000):
        return self.spawn("penstock-example-epoch", "--address", self.address, "--data", dataset, "--epochs", epochs,
                          *arguments)

    def control(self, *arguments):
        subprocess.run([self.programs / "penstockctl", "--address", self.address, *arguments], check=True,
                       stdout=subprocess.DEVNULL)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return answer.headers, answer.read()

    def json(self, path):
        return json.loads(self.get(path)[1])

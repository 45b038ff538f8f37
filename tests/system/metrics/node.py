"""Runs a daemon, trainers and Prometheus on free ports in a temporary folder, for prometheus_test.py,
openmetrics_test.py and picture.py."""
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def until(condition, seconds=30):
    """Waits until the condition holds; returns whether it did in time. Some exceptions count as "not yet"."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, KeyError, ValueError):
            if condition():
                return True
        time.sleep(0.1)
    return False


class Made:
    """Serves the output of penstock-made-metrics, as a second node."""

    def __init__(self, program):
        began = time.monotonic()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = subprocess.check_output([program, str(int(time.monotonic() - began))])
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Node:
    """Stops everything when the `with` block ends. `made` adds the second node; without `prometheus`, only the daemon
    runs."""

    def __init__(self, programs, photographs, config="", made=False, alerts=None, prometheus=True):
        self.programs = pathlib.Path(programs)
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.photographs = self.folder / "photographs"
        self.port, self.prometheus_port = free_port(), free_port()
        self.address = self.folder / "run/penstock.sock"
        try:
            self.run("penstock-make-photographs", self.photographs, "--images", photographs)
            self.start_daemon(config)
            if prometheus:
                self.start_prometheus(alerts, made)
        except BaseException:
            self.stack.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def run(self, program, *arguments):
        subprocess.run([self.programs / program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def spawn(self, *argv, quiet=True, environment=None):
        log = open(self.folder / (pathlib.Path(argv[0]).name + ".log"), "ab")
        process = subprocess.Popen([str(a) for a in argv], stdout=subprocess.DEVNULL if quiet else log, stderr=log,
                                   env={**os.environ, **(environment or {})})
        self.stack.callback(self.end, process)
        self.stack.callback(log.close)
        return process

    @staticmethod
    def end(process):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def start_daemon(self, config):
        file = self.folder / "penstock.yaml"
        file.write_text(f"""
server: {{socket: {self.address}, group: '', state_dir: '', metrics_address: '127.0.0.1:{self.port}'}}
pool: {{max: 256MiB}}
limits: {{max_quarantined: 50%}}
{config}
datasets:
  - {{name: photographs, folder: {self.photographs}}}
  - {{name: noise, synthetic: {{}}}}
""")
        self.daemon = self.spawn(self.programs / "penstockd", "--config", file)
        if not until(lambda: "penstock_ready 1" in self.page()):
            raise RuntimeError((self.folder / "penstockd.log").read_text())

    def page(self):
        return get(f"http://127.0.0.1:{self.port}/metrics")

    def start_prometheus(self, alerts, made):
        targets = [f"127.0.0.1:{self.port}"]
        if made:
            second = Made(self.programs / "penstock-made-metrics")
            self.stack.callback(second.close)
            targets.append(f"127.0.0.1:{second.port}")
        file = self.folder / "prometheus.yml"
        file.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(alerts)] if alerts else [],
            "scrape_configs": [{"job_name": "penstock", "static_configs": [{"targets": targets}]}]}))
        self.prometheus = f"http://127.0.0.1:{self.prometheus_port}"
        self.spawn(shutil.which("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={self.folder}/tsdb",
                   f"--web.listen-address=127.0.0.1:{self.prometheus_port}", "--log.level=warn")
        if not until(lambda: "Ready" in get(self.prometheus + "/-/ready")):
            raise RuntimeError((self.folder / "prometheus.log").read_text())

    def trainer(self, *arguments, dataset="photographs", epochs=1000000, environment=None):
        return self.spawn(self.programs / "penstock-example-epoch", "--address", self.address, "--data", dataset,
                          "--epochs", epochs, *arguments, environment=environment)

    def ask(self, path, **parameters):
        answer = json.loads(get(f"{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"))
        if answer["status"] != "success":
            raise ValueError(answer)
        return answer["data"]


def panels(dashboard):
    return [panel for panel in json.loads(pathlib.Path(dashboard).read_text())["panels"] if panel["type"] != "row"]


def expression(text, interval, instance=".*"):
    return text.replace("$__rate_interval", interval).replace("$instance", instance)


def spoil(folder, count):
    """Truncates the first `count` files of a folder to half their size."""
    files = sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file())
    for path in files[:count]:
        os.truncate(path, path.stat().st_size // 2)

"""A node of the job: its daemon, its processes and its link."""
import os
import pathlib
import signal
import subprocess
import time

START_S = 30
LINK_MEGABITS = 400


class Node:
    """`bridge`: None for a node without namespaces of its own. `environment`: of all its processes."""

    def __init__(self, number, folder, programs, environment, bridge=None):
        self.number, self.programs, self.environment = number, pathlib.Path(programs), environment
        self.folder = pathlib.Path(folder) / f"node{number}"
        self.runtime = self.folder / "daemon"
        self.runtime.mkdir(parents=True)
        self.runtime.chmod(0o700)
        self.address = str(self.runtime / "penstock.sock")
        self.processes, self.daemon, self.alive = [], None, True
        self.init, self.inside = None, []
        if bridge is not None:
            self.make_namespaces(bridge)

    def make_namespaces(self, bridge):
        """The first process of a PID namespace takes all others with it."""
        self.init = subprocess.Popen(["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child=KILL",
                                      "--mount-proc", "sh", "-c", "echo up; exec sleep infinity"],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.init.stdout.readline() != "up\n":
            raise RuntimeError("unshare failed")
        try:
            self.connect(bridge)
        except BaseException:
            self.kill()
            raise

    def connect(self, bridge):
        [child] = pathlib.Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children").read_text().split()
        self.inside = ["nsenter", "--target", child, "--net", "--pid", "--mount", "--"]
        bridge.connect(child, LINK_MEGABITS)

    def start(self, command, log, **environment):
        with open(self.folder / log, "ab") as output:
            process = subprocess.Popen(self.inside + [str(each) for each in command], stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=output, start_new_session=True,
                                       env={**os.environ, **self.environment, "PENSTOCK_ADDRESS": self.address,
                                            **environment})
        self.processes.append(process)
        return process

    def start_daemon(self):
        before = len(self.log())
        self.daemon = self.start([self.programs / "penstockd", "--private", self.runtime, "--workers", 1], "log")
        deadline = time.monotonic() + START_S
        while "event=serving" not in self.log()[before:]:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("the daemon does not serve: " + self.log()[-2000:])
            time.sleep(0.02)

    def log(self):
        file = self.folder / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def kill_daemon(self):
        """kill -9. nsenter's child is the daemon, and both are in one session."""
        os.killpg(self.daemon.pid, signal.SIGKILL)
        self.daemon.wait(timeout=20)

    def kill(self):
        """The node is gone: everything that runs there, and its link."""
        self.alive = False
        if self.init is not None:
            self.init.kill()  # --kill-child ends the namespace's first process
            self.init.wait(timeout=20)
            self.init.stdout.close()
        for process in self.processes:
            if self.init is None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=20)

"""Starts and stops the rig's processes, each with a time limit."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time

START_S = 60
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


class Missing(Exception):
    """A program that is not installed here; the message says how it would be."""


def find_program(name):
    """Finds a program of the tests' virtual environment, in this order: $PENSTOCK_STORES_VENV,
    the running interpreter's, build/venv; then one in PATH."""
    for venv in (os.environ.get("PENSTOCK_STORES_VENV"), sys.prefix, ROOT / "build/venv"):
        if venv and os.access(os.path.join(venv, "bin", name), os.X_OK):
            return os.path.join(venv, "bin", name)
    found = shutil.which(name)
    if not found:
        raise Missing(f"{name} is not installed; run tests/python/venv.sh")
    return found


def take_all_descriptors():
    """Lets this process open as many files as it may."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def free_port():
    """A port that is free now. Nothing keeps it free, so callers must cope with a loss."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def end_with_parent():
    """Ends this process when its standard input ends, which its parent holds open."""

    def wait():
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True, name="parent").start()


def end(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()


def start_own(*arguments):
    """Starts `stores ARGUMENTS`; returns the process and what it said of itself in JSON."""
    process = subprocess.Popen([sys.executable, "-B", str(HERE), *map(str, arguments),
                                "--with-parent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    line = process.stdout.readline()
    if not line:
        end(process)
        raise RuntimeError(f"stores {arguments[0]} did not start; see its message above")
    return process, json.loads(line)


def start_foreign(command, port, log, environment=None):
    """Starts a server that listens on `port` and writes to the file `log`."""
    with open(log, "ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   env={**os.environ, **(environment or {})})
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process
        time.sleep(0.02)
    end(process)
    words = pathlib.Path(log).read_text(errors="replace")[-2000:]
    raise RuntimeError(f"{command[0]} did not listen within {START_S} s: {words}")

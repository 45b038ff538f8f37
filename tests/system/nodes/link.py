"""A bridge to which nodes are connected, each by a link of limited bandwidth. Needs root."""
import os
import shutil
import subprocess
import sys

NETWORK = "10.213.7"


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True, timeout=20)


def lacks():
    """Why there can be no bridge here; "" if there can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    for program in ("ip", "tc", "unshare", "nsenter"):
        if not shutil.which(program):
            return f"there is no {program}"
    tried = subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount", "true"], capture_output=True, text=True)
    return f"namespaces cannot be made here: {tried.stderr.strip()}" if tried.returncode else ""


LACKS = lacks()


def enter_namespace():
    """Runs this program again in a network namespace of its own, where its store and its bridge live. All of it
    vanishes with the program. Does nothing where there can be none."""
    if LACKS or os.environ.get("PENSTOCK_NODES_INSIDE"):
        return
    os.environ["PENSTOCK_NODES_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.orig_argv[1:]])


class Bridge:
    """This machine's end, at `address`."""

    def __init__(self):
        self.name, self.address, self.links = "bridge0", f"{NETWORK}.1", 0
        ip("link", "set", "lo", "up")
        ip("link", "add", self.name, "type", "bridge")
        ip("address", "add", f"{self.address}/24", "dev", self.name)
        ip("link", "set", self.name, "up")

    def connect(self, process_id, megabits):
        """Connects the network namespace of a process. The link vanishes with that namespace."""
        self.links += 1  # a link outlives its namespace by a moment, so none has the name of an earlier one
        here, there = f"node{self.links}", f"store{self.links}"
        ip("link", "add", here, "type", "veth", "peer", "name", there)
        ip("link", "set", here, "master", self.name, "up")
        ip("link", "set", there, "netns", process_id)
        inside = ["nsenter", "--target", str(process_id), "--net"]
        address = f"{NETWORK}.{self.links + 10}"
        for command in (["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{address}/24", "dev", there],
                        ["ip", "link", "set", there, "up"]):
            subprocess.run(inside + command, check=True, capture_output=True, timeout=20)
        # What the node receives is limited where it leaves this machine.
        subprocess.run(["tc", "qdisc", "add", "dev", here, "root", "tbf", "rate", f"{megabits}mbit", "burst", "64k",
                        "latency", "200ms"], check=True, capture_output=True, timeout=20)

    def close(self):
        subprocess.run(["ip", "link", "delete", self.name], capture_output=True, timeout=20)

"""A bridge to which nodes are connected, each by a link of limited bandwidth. Needs root."""
import os
import shutil
import subprocess

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


class Bridge:
    """This machine's end, at `address`."""

    def __init__(self):
        self.name, self.address = f"ps{os.getpid() % 100000}", f"{NETWORK}.1"
        ip("link", "add", self.name, "type", "bridge")
        ip("address", "add", f"{self.address}/24", "dev", self.name)
        ip("link", "set", self.name, "up")

    def connect(self, process_id, number, megabits):
        """Gives the network namespace of a process an address; returns it. The link vanishes with the namespace."""
        here, there = f"{self.name}n{number}", f"{self.name}e{number}"
        ip("link", "add", here, "type", "veth", "peer", "name", there)
        ip("link", "set", here, "master", self.name, "up")
        ip("link", "set", there, "netns", process_id)
        inside = ["nsenter", "--target", str(process_id), "--net"]
        address = f"{NETWORK}.{number + 10}"
        for command in (["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{address}/24", "dev", there],
                        ["ip", "link", "set", there, "up"]):
            subprocess.run(inside + command, check=True, capture_output=True, timeout=20)
        # What the node receives is limited where it leaves this machine.
        subprocess.run(["tc", "qdisc", "add", "dev", here, "root", "tbf", "rate", f"{megabits}mbit", "burst", "64k",
                        "latency", "200ms"], check=True, capture_output=True, timeout=20)
        return address

    def close(self):
        subprocess.run(["ip", "link", "delete", self.name], capture_output=True, timeout=20)

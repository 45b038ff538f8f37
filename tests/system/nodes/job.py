"""A job of many ranks over nodes, as torchrun would start and stop it."""
import json
import pathlib
import subprocess
import sys
import time

RANK = pathlib.Path(__file__).resolve().parent / "rank.py"


class Job:
    """Starts a rank's process for each of `world`, spread over the nodes in turn."""

    def __init__(self, nodes, world, folder, *, url, batch, epochs, state=None, pause=0.0):
        self.world, self.folder = world, pathlib.Path(folder)
        self.folder.mkdir()
        self.on = {rank: nodes[rank * len(nodes) // world] for rank in range(world)}
        text = "-" if state is None else json.dumps(state)
        self.processes = {
            rank: node.start([sys.executable, RANK, url, self.log(rank), rank, world, batch, epochs, text, pause],
                             f"rank{rank}.log")
            for rank, node in self.on.items()}

    def log(self, rank):
        return self.folder / f"rank{rank}.jsonl"

    def lines(self, rank):
        """What the rank has logged, without a line that was cut."""
        if not self.log(rank).exists():
            return []
        text = self.log(rank).read_text()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def steps(self, rank):
        return [line for line in self.lines(rank) if "rows" in line]

    def least_steps(self):
        return min(len(self.steps(rank)) for rank in range(self.world))

    def expect_running(self):
        for rank, process in self.processes.items():
            if process.poll() not in (None, 0):
                said = (self.on[rank].folder / f"rank{rank}.log").read_text()[-3000:]
                raise AssertionError(f"rank {rank} ended with {process.returncode}: {said}")

    def wait_for_steps(self, count, seconds=120):
        deadline = time.monotonic() + seconds
        while self.least_steps() < count:
            self.expect_running()
            if time.monotonic() > deadline:
                raise AssertionError(f"after {seconds} s the slowest rank is at step {self.least_steps()} of {count}")
            time.sleep(0.05)

    def wait(self, seconds=240):
        deadline = time.monotonic() + seconds
        for rank, process in self.processes.items():
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"rank {rank} has not finished within {seconds} s") from None
        self.expect_running()
        for rank in range(self.world):
            if self.lines(rank)[-1:] != [{"done": True}]:
                raise AssertionError(f"rank {rank} did not finish")

    def stop(self):
        """As torchrun when a rank is lost. Processes of a node that is gone have ended already."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)

    def checkpoint(self):
        """The last step that every rank has finished: the rows up to it, by epoch, and the state after it."""
        count = self.least_steps()
        states = [self.steps(rank)[count - 1]["state"] for rank in range(self.world)]
        return self.rows(count), states

    def rows(self, count=None):
        """Rows by epoch, of the first `count` steps of each rank."""
        found = {}
        for rank in range(self.world):
            for line in self.steps(rank)[:count]:
                found.setdefault(line["epoch"], []).extend(tuple(row) for row in line["rows"])
        return found

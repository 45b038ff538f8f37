"""What reading from a store costs: build/venv/bin/python -B tests/bench/stores/limits.py [OPTION]... Each row is one run
beside its ceiling, in rounds that alternate. README.md says what is compared."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
import curl_reads  # noqa: E402
from stores import datasets, fault_proxy, servers  # noqa: E402

SHARD_SAMPLES = 125
LIMIT_S = 600


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--latency", type=int, default=30, metavar="MS", help="of each answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=128, help="of curl")
    return parser.parse_args()


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        datasets.tar_shards(folder / "tar", options.samples, SHARD_SAMPLES)
        self.ranges = folder / "ranges"
        self.bytes = curl_reads.write_ranges(folder / "tar", self.ranges)
        self.shards = f"{{000000..{(options.samples - 1) // SHARD_SAMPLES:06d}}}.tar"
        self.store = servers.FileStore()
        self.store.put_folder("photos", folder / "tar", prefix="tar/")
        self.proxy = fault_proxy.FaultProxy(self.store.address)
        self.proxy.add("latency", ms=options.latency)
        self.environment = {**self.store.environment(), "AWS_ENDPOINT_URL": self.proxy.endpoint}

    def close(self):
        self.proxy.close()
        self.store.close()

    def penstock(self, source, epochs, **environment):
        """One private daemon: its first opening, then epochs, each with the bytes that the store sent."""
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            side = subprocess.Popen([sys.executable, "-B", HERE / "limits_side.py", source, scratch, str(epochs)], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    env={**os.environ, **self.environment, **environment})
            self.proxy.reset_counts()
            sent, said = [], []
            for line in side.stderr:
                if line == "epoch\n":
                    sent.append(self.proxy.counts()["bytes"])
                    side.stdin.write("\n")
                    side.stdin.flush()
                else:
                    said.append(line)
            printed = side.stdout.read()
            if side.wait(LIMIT_S):
                raise RuntimeError(f"limits_side.py ended with {side.returncode}: {''.join(said)}")
            found = json.loads(printed)
        for epoch, after in zip(found["epochs"], sent):
            if epoch["samples"] != self.options.samples:
                raise RuntimeError(f"an epoch had {epoch['samples']} samples, expected {self.options.samples}")
            epoch["bytes"] = after
        return found

    def local(self):
        return self.penstock(f"{self.folder}/tar/{self.shards}", 1)["epochs"][0]

    def remote(self):
        return self.penstock(f"s3://photos/tar/{self.shards}", 1)["epochs"][0]

    def cached(self):
        return self.penstock(f"s3://photos/tar/{self.shards}", 2, PENSTOCK_STORE_CACHE=str(self.folder / "cache"),
                             PENSTOCK_STORE_CACHE_MAX="100GiB")

    def curl(self):
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            seconds, cpu = curl_reads.read(self.ranges, scratch, self.options.connections, self.environment)
        return {"seconds": seconds, "cpu": cpu}


def row(what, figure, ceiling, against, unit):
    print(f"| {what} | {figure:.2f} {unit} | {ceiling:.2f} {unit} | {figure / ceiling:.2f} | {against} |")


def table(bench, rounds, cached):
    median = {side: {key: statistics.median(each[side][key] for each in rounds) for key in rounds[0][side]}
              for side in rounds[0] if side != "cached"}
    local, remote, curl = (median[side] for side in ("local", "remote", "curl"))
    samples, size = bench.options.samples, bench.bytes
    print("| what | Penstock | beside it | ratio | which is |\n|---|---|---|---|---|")
    row("images/s from the store", samples / remote["seconds"], samples / local["seconds"], "the same from local files", "/s")
    row("images/s from the store", samples / remote["seconds"], samples / (local["seconds"] + curl["seconds"]),
        "local files, and curl's reading of the same ranges after it: what these cores can do", "/s")
    row("MB/s from the store", size / remote["seconds"] / 1e6, size / curl["seconds"] / 1e6,
        f"curl, {bench.options.connections} connections, the same ranges, no decoding", "MB/s")
    row("processor time of fetching, a GB", (remote["cpu"] - local["cpu"]) / size * 1e9, curl["cpu"] / size * 1e9,
        "curl; Penstock's: the daemon's less what it takes with local files", "s")
    first, second = (epoch["bytes"] for epoch in cached["epochs"])
    row("bytes read, with a cache, to the end of the first epoch", first / 1e6, size / 1e6, "the photographs", "MB")
    row("… and in the second epoch", (second - first) / 1e6, size / 1e6, "the photographs", "MB")


def main():
    options = parse()
    for name in [name for name in os.environ if name.startswith(("AWS_", "GCS_", "PENSTOCK_STORE_CACHE"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        bench = Bench(options, pathlib.Path(scratch))
        try:
            rounds = []
            for number in range(options.rounds):
                rounds.append({"local": bench.local(), "remote": bench.remote(), "curl": bench.curl()})
                print(f"round {number + 1}: {json.dumps(rounds[-1])}", file=sys.stderr, flush=True)
            cached = bench.cached()
        finally:
            bench.close()
    print(f"{options.samples} photographs, {bench.bytes / 1e6:.0f} MB; {options.latency} ms; {len(os.sched_getaffinity(0))} "
          f"cores, which the store shares; load average at the end {os.getloadavg()[0]:.1f}\n")
    table(bench, rounds, cached)


if __name__ == "__main__":
    main()

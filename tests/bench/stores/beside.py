"""Compares loaders that read from an object store; beside.sh runs it. README.md says what is compared."""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import curl_reads
import data
from stores import fault_proxy, servers

HERE = pathlib.Path(__file__).resolve().parent
LOADERS = ("penstock", "streaming", "webdataset", "s3torchconnector", "curl")
LIMIT_S = 600


def parse():
    parser = argparse.ArgumentParser(prog="beside.sh", description=__doc__)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--latency", type=int, default=30, metavar="MS", help="of each answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--connections", type=int, default=128, help="of curl")
    parser.add_argument("--server", choices=("own", "rclone"), default="own")
    parser.add_argument("--only", nargs="+", choices=LOADERS, default=LOADERS)
    parser.add_argument("--json", metavar="FILE", help="write all rounds to a file")
    return parser.parse_args()


def start_store(kind, folder, latency):
    """The store with the data, and the proxy in front of it."""
    store = servers.Rclone(hashes=False) if kind == "rclone" else servers.FileStore()
    for name in ("tar", "mds"):
        store.put_folder("photos", folder / name, prefix=f"{name}/")
    proxy = store.proxy if kind == "rclone" else fault_proxy.FaultProxy(store.address)
    proxy.add("latency", ms=latency)
    return store, proxy


def cpu_seconds(process_id):
    fields = pathlib.Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(name, options, environment):
    scratch = tempfile.mkdtemp(prefix="bench-")
    try:
        done = subprocess.run([sys.executable, "-B", HERE / "sides.py", name, str(options.samples), str(options.workers),
                               str(options.batch), scratch, str(options.connections)], text=True, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {LIMIT_S} s"}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no reason"])[-1][:300]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(options, store, proxy, environment):
    """Rounds of all loaders in turn, so that a busy moment of the machine does not hit one alone."""
    found = {name: [] for name in options.only}
    for number in range(options.rounds):
        for name in options.only:
            proxy.reset_counts()
            before = cpu_seconds(store.process_id) + cpu_seconds(proxy.process_id)
            result = run(name, options, environment)
            counts = proxy.counts()
            result.update(bytes=counts["bytes"], requests=counts["requests"], under_way=counts["most_under_way"],
                          store_cpu=cpu_seconds(store.process_id) + cpu_seconds(proxy.process_id) - before,
                          load=os.getloadavg()[0])
            if "failed" not in result and result["samples"] != options.samples:
                result["failed"] = f"gave {result['samples']} of {options.samples} samples"
            found[name].append(result)
            print(f"round {number + 1}: {name}: {json.dumps(result)}", file=sys.stderr, flush=True)
    return found


def rate(result):
    return result["samples"] / result["seconds"]


def table(found, data_bytes):
    good = {name: [each for each in results if "failed" not in each] for name, results in found.items()}
    rates = {name: statistics.median(map(rate, results)) for name, results in good.items() if results}
    print("| loader | samples/s (median, least to most) | MB/s of photographs | first batch | bytes read ÷ data | requests |"
          " most under way | store's CPU s |\n|---|---|---|---|---|---|---|---|")
    for name, results in good.items():
        if not results:
            print(f"| {name} | failed: {found[name][0]['failed']} | | | | | | |")
            continue
        middle = sorted(results, key=rate)[len(results) // 2]
        mean = data_bytes / middle["samples"]
        opening = f"; opening {middle['opening']:.1f} s" if "opening" in middle else ""
        print(f"| {name} | {rates[name]:.0f} ({min(map(rate, results)):.0f} to {max(map(rate, results)):.0f}) | "
              f"{rates[name] * mean / 1e6:.0f} | {middle['first']:.2f} s{opening} | {middle['bytes'] / data_bytes:.2f} | "
              f"{middle['requests']} | {middle['under_way']} | {middle['store_cpu']:.1f} |")
    peers = {name: each for name, each in rates.items() if name not in ("penstock", "curl")}
    if "penstock" in rates and peers:
        best = max(peers, key=peers.get)
        print(f"\npenstock ÷ {best}, the best of the others: {rates['penstock'] / peers[best]:.2f}")
    if "penstock" in rates and "curl" in rates:
        print(f"penstock ÷ curl, which decodes nothing: {rates['penstock'] / rates['curl']:.2f}")


def main():
    options = parse()
    for name in [name for name in os.environ if name.startswith(("AWS_", "GCS_", "PENSTOCK_STORE_CACHE"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        folder = pathlib.Path(scratch)
        data_bytes = data.make(folder, options.samples)
        ranges = folder / "ranges"
        curl_reads.write_ranges(folder / "tar", ranges)
        store, proxy = start_store(options.server, folder, options.latency)
        try:
            endpoint = {"AWS_ENDPOINT_URL": proxy.endpoint, "S3_ENDPOINT_URL": proxy.endpoint}
            environment = {**store.environment(), **endpoint, "PENSTOCK_BENCH_RANGES": str(ranges)}
            found = measure(options, store, proxy, environment)
        finally:
            if options.server == "own":
                proxy.close()
            store.close()
    print(f"{options.samples} photographs, {data_bytes / 1e6:.0f} MB; {options.latency} ms; {options.workers} workers on "
          f"{len(os.sched_getaffinity(0))} cores; server: {options.server}; load average at the end "
          f"{os.getloadavg()[0]:.1f}\n")
    table(found, data_bytes)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

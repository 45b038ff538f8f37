"""Memory on the GPU that a loader takes with everything that belongs to it, its daemon too: with decode="gpu", and without.

    python3 tests/bench/engines/memory.py --data DIR

The most over two epochs, beyond what torch's own context and one batch take.
"""
import contextlib
import subprocess
import sys

import setting
import torch


def used_mib():
    free, total = torch.cuda.mem_get_info()
    return (total - free) / 2**20


def measure(asked, decode):
    torch.zeros(1, device="cuda")
    before = used_mib()
    more = {"decode": "gpu"} if decode == "gpu" else {}
    with setting.served(asked) as served, contextlib.closing(setting.loader(served, asked, **more)) as loader:
        most = 0.0
        for _ in range(2):
            for _ in loader:
                most = max(most, used_mib())
        stats = loader.stats()
    decoder = stats.get("decoder_bytes")
    print(f"{most - before:.0f} {decoder / 2**20 if decoder else 0:.0f}")


def main():
    parser = setting.parser(__doc__.splitlines()[0], images=4000)
    parser.add_argument("--one", choices=("cpu", "gpu"), help="only this, in this process")
    asked = parser.parse_args()
    if asked.one:
        measure(asked, asked.one)
        return
    print(setting.machine_line() + "\n\n| decoded by | MiB on the GPU | of these the decoder |\n|---|---|---|")
    found = {}
    for decode in ("cpu", "gpu"):
        words = subprocess.run([sys.executable, *sys.argv, "--one", decode], check=True, stdout=subprocess.PIPE, text=True).stdout
        found[decode], decoder = map(float, words.split())
        name = "workers" if decode == "cpu" else "the engines"
        print(f"| {name} | {found[decode]:.0f} | {decoder:.0f} |", flush=True)
    print(f"\nbeyond pixel delivery: {found['gpu'] - found['cpu']:.0f} MiB")


if __name__ == "__main__":
    main()

"""Compares the Python in server/plan/README.md with the C++ program's output. Arguments: README, program."""
import re
import subprocess
import sys


def mixed(names, order, epoch, place):
    weights = lambda epoch: [0.5, 0.25, 1e-3, 3] if epoch < 2 else [0, 1, 0, 2]
    orders = {0: lambda n, seed, passes, index: index, 1: names["sample_at"],
              3: lambda *at: names["windowed_sample_at"](*at, 10, 2)}
    return names["mixed_sample_at"]([100, 7, 1, 5000], weights, 1001, 99, epoch, place, orders[order])


def main():
    readme, program = sys.argv[1:]
    specification = {}
    for block in re.findall(r"```python\n(.*?)```", open(readme).read(), re.S):
        exec(block, specification)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        what, *numbers = line.split()
        numbers = list(map(int, numbers))
        printed = numbers[-1]
        if what not in ("windows", "mixture"):
            samples, seed, epoch, index, _ = numbers
        if what == "windows":
            samples, index, shard, shards, _ = numbers
            specified = specification["windowed_sample_at"](samples, 7, 3, index, shard, shards)
        elif what == "mixture":
            specified = mixed(specification, *numbers[:3])
        elif what == "order":
            specified = specification["sample_at"](samples, seed, epoch, index)
        elif what == "draw":
            specified = specification["draw_number"](index, seed)
        else:
            specified = specification["substitute_for"](samples, seed, epoch, index, 3)
        if specified != printed:
            sys.exit(f"{line}: the README says {specified}")
    if len(lines) < 2000:
        sys.exit(f"only {len(lines)} values were compared")


main()

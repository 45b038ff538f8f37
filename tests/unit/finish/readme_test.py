"""Compares the effects' draws in server/plan/README.md with the C++ program's output. Arguments: README, program."""
import re
import struct
import subprocess
import sys

CHOICES = [("mixup", 0.2, 1), ("cutmix", 1.0, 0.7), ("none", 1.0, 0.1), ("mixup", 3.5, 0.3)]
KINDS = {"none": 0, "mixup": 1, "cutmix": 2}


def bits(code, value):
    return struct.unpack({"d": "<Q", "f": "<I"}[code], struct.pack("<" + code, value))[0]


def erased(names, seed, sample, width, height, large):
    parameters = {"probability": 1, "scale": (0.5, 1)} if large else {}
    box = names["erased_box"](width, height, (seed, seed // 3, sample), names["operation_of"](255, 65535), **parameters)
    return box or (0, 0, 0, 0, 0)


def mixed(names, seed, first, width, height):
    key = seed, 1 + seed // 3, first
    kind, share, box = names["mix_of_batch"](width, height, key, names["operation_of"](0, 2), CHOICES, 0.9)
    return KINDS[kind], bits("d", share), *(box or (0, 0, 0, 0))


def noise(names, key, pixel):
    return tuple(bits("f", value) for value in names["noise"](key, pixel))


def main():
    readme, program = sys.argv[1:]
    names = {}
    for block in re.findall(r"```python\n(.*?)```", open(readme).read(), re.S):
        exec(block, names)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    kinds = {}
    for line in lines:
        what, *numbers = line.split()
        numbers = tuple(map(int, numbers))
        compare, arguments = {"erase": (erased, 5), "mix": (mixed, 4), "noise": (noise, 2)}[what]
        specified = compare(names, *numbers[:arguments])
        if specified != numbers[arguments:]:
            sys.exit(f"{line}: the README says {specified}")
        kinds[what, any(specified)] = kinds.get((what, any(specified)), 0) + 1
    if len(lines) < 1600 or kinds["erase", True] < 200 or kinds["erase", False] < 100:
        sys.exit(f"only {kinds} values were compared")


main()

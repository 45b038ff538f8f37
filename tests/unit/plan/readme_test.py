"""Runs the Python of server/plan/README.md against what the C++ printed. Arguments: README, program."""
import re
import subprocess
import sys


def main():
    readme, program = sys.argv[1:]
    specification = {}
    for block in re.findall(r"```python\n(.*?)```", open(readme).read(), re.S):
        exec(block, specification)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        what, *numbers = line.split()
        samples, seed, epoch, index, printed = map(int, numbers)
        if what == "order":
            specified = specification["sample_at"](samples, seed, epoch, index)
        elif what == "draw":
            specified = specification["draw_number"](index, seed)
        else:
            specified = specification["substitute_for"](samples, seed, epoch, index, 3)
        if specified != printed:
            sys.exit(f"{line}: the README says {specified}")
    if len(lines) < 800:
        sys.exit(f"only {len(lines)} values were compared")


main()

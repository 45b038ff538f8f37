#!/usr/bin/env python3
"""skipped.py LastTest.log: lists the tests that a ctest run skipped and why, and those that passed only when
run again.

Reads the tests' output: GoogleTest's GTEST_SKIP() << "why", skipTest("why") of Python's
unittest with -v, and a line "SKIPPED: why" from a script.
"""
import collections
import re
import sys

SHOWN = 12  # number of names listed per reason; the log has all of them
PROGRAM = re.compile(r"^\d+/\d+ Test: (\S+)")
GTEST_REASON = re.compile(r"^\S+:\d+: Skipped$")
GTEST_NAME = re.compile(r"^\[  SKIPPED \] ([^ ,]+)(?:,.*)? \(\d+ ms\)")
UNITTEST = re.compile(r"^(\w+) \(.*\) \.\.\. skipped ['\"](.*)['\"]$")
SCRIPT = re.compile(r"^SKIPPED: (.*)$")


def skipped(lines):
    """Yields (reason, name) for every skipped test of a ctest log."""
    program, reason, taking = "", "", False
    for line in (line.rstrip("\n") for line in lines):
        if match := PROGRAM.match(line):
            program = match.group(1)
        elif match := GTEST_NAME.match(line):
            yield reason or "no reason given", match.group(1)
            reason, taking = "", False
        elif GTEST_REASON.match(line):
            reason, taking = "", True
        elif taking and line:
            reason = f"{reason} {line}".strip()
        elif match := UNITTEST.match(line):
            yield match.group(2), f"{program}.{match.group(1)}"
        elif match := SCRIPT.match(line):
            yield match.group(1), program
        taking = taking and bool(line)


def run_again(lines):
    """Returns the programs that failed before they passed, in the order of the log."""
    program, failed, passed = "", [], set()
    for line in (line.rstrip("\n") for line in lines):
        if match := PROGRAM.match(line):
            program = match.group(1)
        elif line == "Test Failed." and program not in failed:
            failed.append(program)
        elif line == "Test Passed.":
            passed.add(program)
    return [program for program in failed if program in passed]


def main():
    if len(sys.argv) != 2:
        sys.exit("skipped.py: wants one path, a LastTest.log of ctest")
    reasons = collections.defaultdict(list)
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        lines = log.readlines()
    for reason, name in skipped(lines):
        reasons[reason].append(name)
    for reason, names in sorted(reasons.items()):
        shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        print(f"skipped {len(names)}, because {reason}: {shown}")
    if not reasons:
        print("skipped: nothing")
    for program in run_again(lines):
        print(f"FLAKY: {program} failed at first and passed when run again")


if __name__ == "__main__":
    main()

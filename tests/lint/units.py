#!/usr/bin/env python3
"""Runs clang over the translation units of a compile database, two at a time on two cores.

  units.py threads BUILD          every unit, syntax only, with the thread-safety analysis
  units.py tidy BUILD             clang-tidy over every file

Prints what is wrong, then one line with the counts; exits with 1 if anything is wrong.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

def units(build):
    """Returns the database's entries of our own code: no generated files, each file once."""
    entries = json.loads((build / "compile_commands.json").read_text())
    found = {}
    for entry in entries:
        if "/gen/" not in entry["file"] and not entry["file"].endswith("_headers.cc"):
            found.setdefault(entry["file"], entry)
    return [found[name] for name in sorted(found)]


def syntax(entry):
    """Returns what clang says of a unit that it parses and analyses but doesn't compile."""
    command = shlex.split(entry["command"])
    at = command.index("-o")
    del command[at:at + 2]
    command[command.index("-c")] = "-fsyntax-only"
    clang = next(i for i, word in enumerate(command) if pathlib.Path(word).name.startswith("clang"))
    command = command[clang:] + ["-Wthread-safety", "-Werror"]
    return subprocess.run(command, cwd=entry["directory"], text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def tidy(build):
    def run(entry):
        command = ["clang-tidy", "-p", str(build), "--quiet", "--warnings-as-errors=*", entry["file"]]
        return subprocess.run(command, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run


def main():
    what, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    entries = units(build)
    if not entries:
        sys.exit(f"units.py: {build}/compile_commands.json names none of our files")
    if what == "tidy":
        run = tidy(build)
    else:
        run = syntax
    began, wrong = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, done in zip(entries, pool.map(run, entries)):
            if done.returncode != 0:
                wrong += 1
                print(f"{entry['file']}:\n{done.stdout}", flush=True)
    print(f"{what}: {len(entries)} units, {wrong} of them wrong, {time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

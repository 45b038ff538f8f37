#!/usr/bin/env python3
"""Runs clang over the translation units of a compile database, with one process per core.

  units.py threads BUILD             every unit, syntax only, with the thread-safety analysis
  units.py includes BUILD [--most N] every unit, or N of them: does it compile? For a build of each file
                                     alone, without precompiled headers, so that missing includes show
  units.py tidy BUILD [--most N]     clang-tidy over every unit, or over N

N units are those with files that changed since the last release; before it, and if more changed, N in turn.

Prints the problems and one line with the counts; exits with 1 if there are problems. "In turn" means that each
commit checks the N units after those of the previous commit, so that all are checked eventually.
PENSTOCK_LINT_SINCE=REF replaces the last release.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A unity build's unit includes our source files, which is no mistake.
TIDY = ["clang-tidy", "--quiet", "--warnings-as-errors=*", "--checks=-bugprone-suspicious-include"]


def units(build):
    """Returns the database's entries for our own code: no generated files, each file once."""
    entries = json.loads((build / "compile_commands.json").read_text())
    found = {}
    for entry in entries:
        if "/gen/" not in entry["file"] and not entry["file"].endswith("_headers.cc"):
            found.setdefault(entry["file"], entry)
    return [found[name] for name in sorted(found)]


def git(*arguments):
    """Returns the lines that git prints; none if it fails, as it does outside a checkout."""
    ran = subprocess.run(["git", "-C", str(ROOT), *arguments], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    return ran.stdout.split() if ran.returncode == 0 else []


def in_turn(entries, most, turn):
    """Returns `most` of the entries; after enough turns all of them have been returned."""
    first = turn * most % len(entries)
    return (entries + entries)[first:first + min(most, len(entries))]


def sources(entry):
    """Returns the source files of a unit: what a unity build's unit includes, else the unit itself."""
    included = re.findall(r'^#include "(.*\.cc)"', pathlib.Path(entry["file"]).read_text(), re.MULTILINE)
    return included or [entry["file"]]


def changed(entries, names):
    paths = {str(ROOT / name) for name in names}
    return [entry for entry in entries if not paths.isdisjoint(sources(entry))]


def select(entries, most):
    """Returns the entries to check now, and a description of them."""
    if most is None:
        return entries, "all"
    since = [os.environ["PENSTOCK_LINT_SINCE"]] if os.environ.get("PENSTOCK_LINT_SINCE") else \
        git("describe", "--tags", "--abbrev=0")
    turn = int((git("rev-list", "--count", "HEAD") or ["0"])[0])
    if not since:
        return in_turn(entries, most, turn), f"{most} of {len(entries)} in turn, there being no release yet"
    found = changed(entries, git("diff", "--name-only", since[0], "--", "*.cc"))
    if len(found) > most:
        return in_turn(found, most, turn), f"{most} in turn of {len(found)} that changed since {since[0]}"
    return found, f"changed since {since[0]}"


def syntax(entry):
    """Returns clang's output for a unit that it analyses without compiling it."""
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
        return subprocess.run([*TIDY, "-p", str(build), entry["file"]], text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["threads", "includes", "tidy"])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--most", type=int)
    return parser.parse_args()


def main():
    arguments = parse()
    everything = units(arguments.build)
    if not everything:
        sys.exit(f"units.py: {arguments.build}/compile_commands.json names none of our files")
    entries, which = select(everything, arguments.most)
    run = tidy(arguments.build) if arguments.what == "tidy" else syntax
    began, wrong = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, done in zip(entries, pool.map(run, entries)):
            if done.returncode != 0:
                wrong += 1
                print(f"{entry['file']}:\n{done.stdout}", flush=True)
    print(f"{arguments.what}: {len(entries)} units ({which}), {wrong} of them wrong, "
          f"{time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

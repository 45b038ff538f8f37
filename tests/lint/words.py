"""Words that this project has given up for the field's own: no name may bring them back.

Looks at the names of files and at the identifiers of C++, Python and protocol buffers, which it splits
where a capital letter or an underscore begins a new word. Comments and strings are not looked at: in a
sentence, most of these words are plain English. `words.py` prints what it finds and exits with 1.
"""
import re
import subprocess
import sys

INSTEAD = {
    "bell": "notifier",
    "carrier": "row copier",
    "clerk": "reply executor",
    "courier": "deferred sender",
    "crew": "ParallelFor, or user worker",
    "hello": "handshake",
    "herald": "systemd notifier",
    "lender": "owner",
    "road": "fill path",
    "seat": "permit, or reservation",
    "wish": "request",
}
# What was published keeps its name: a configuration key, and the C++ member that protobuf makes of it.
PUBLISHED = {"carriers"}
SOURCES = (".h", ".cc", ".cu", ".py", ".proto")
PREVIOUS = "tests/system/previous/"  # speaks the names of the previous version
NOT_CODE = re.compile(r'//[^\n]*|#(?!include)[^\n]*|/\*.*?\*/|"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                      re.DOTALL)
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def words_of(name):
    for part in PART.findall(name):
        word = part.lower()
        yield from {word, word.removesuffix("s"), word.removesuffix("es")}


def given_up(name):
    return sorted(set(words_of(name)) & INSTEAD.keys()) if name not in PUBLISHED else []


def main():
    files = subprocess.run(["git", "ls-files"], text=True, capture_output=True, check=True).stdout.splitlines()
    found = 0
    for path in files:
        if path.startswith(PREVIOUS):
            continue
        names = {path}
        if path.endswith(SOURCES) and path != "tests/lint/words.py":
            with open(path, encoding="utf-8") as file:
                names |= set(re.findall(r"[A-Za-z_]\w*", NOT_CODE.sub(" ", file.read())))
        for name in sorted(names):
            for word in given_up(name):
                found += 1
                print(f"{path}: {name}: not '{word}', but {INSTEAD[word]} (see the README beside this check)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Finds names with words that this project has replaced by the field's own terms.

Checks file names and the identifiers of C++, Python and protocol buffers, which it splits at capital letters and
underscores. Comments, strings and test names are not checked, because most of these words are plain English in a
sentence.

A function that makes an X is a constructor, ToX or MakeX. `XOf(y)` looks up the X that y has. `words.py` prints
its findings and exits with 1 if there are any.
"""
import re
import subprocess
import sys

INSTEAD = {
    "bell": "notifier",
    "bury": "reap",
    "carrier": "row copier",
    "clerk": "reply executor",
    "courier": "deferred sender",
    "crew": "ParallelFor, or user worker",
    "hello": "handshake",
    "herald": "systemd notifier",
    "lender": "owner",
    "people": "display",
    "road": "fill path",
    "seat": "permit, or reservation",
    "wish": "request",
}
# Published names stay: a configuration key, and the C++ member that protobuf generates for it.
PUBLISHED = {"carriers"}
SOURCES = (".h", ".cc", ".cu", ".py", ".proto")
PREVIOUS = "tests/system/previous/"  # uses the names of the previous version
NOT_CODE = re.compile(r'R"(?P<mark>\w*)\((?:.|\n)*?\)(?P=mark)"|//[^\n]*|#(?!include)[^\n]*|/\*.*?\*/|"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                      re.DOTALL)
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


TEST_NAME = re.compile(r"\bTEST\w*\(\s*\w+,\s*\w+\)|\bdef test_\w+")
# Matches a function's type and name in a declaration or definition.
FACTORY = re.compile(r"^ *(?:static |inline |constexpr |virtual )*([\w:<>]+) +(?:\w+::)?(\w+)Of\(", re.MULTILINE)
# These functions find an existing value, or return a kind.
LOOKUPS = {"Facts", "Feed", "Files", "Id", "Kind", "Phase", "Place", "Range", "Roots", "State", "Track", "Traffic",
           "Turn", "View"}


def factories(code):
    """Yields the names XOf of functions that return an X, StatusOr<X>, vector<X> and so on by value."""
    for kind, made in FACTORY.findall(code):
        if kind.rstrip(">").endswith((made, made.removesuffix("s"))) and made not in LOOKUPS:
            yield f"{made}Of"


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
                code = TEST_NAME.sub(" ", NOT_CODE.sub(" ", file.read()))
            names |= set(re.findall(r"[A-Za-z_]\w*", code))
            for name in factories(code) if path.startswith(("client/", "common/", "server/")) else []:
                found += 1
                print(f"{path}: {name}: a constructor, To{name[:-2]} or Make{name[:-2]}")
        for name in sorted(names):
            for word in given_up(name):
                found += 1
                print(f"{path}: {name}: not '{word}', but {INSTEAD[word]} (see the README beside this check)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Generates the reference of configuration keys from the comments in config.proto and what it imports.

    deploy/config/reference.py proto/penstock/config/v1/config.proto > deploy/config/README.md

Needs Python's standard library only. A key is the field's name without its unit. The comment above a
field or a message becomes its text in the reference, so write it in whole sentences.
"""
import pathlib
import re
import sys
import textwrap

UNITS = (("_bytes", "size: B, KiB, MiB, GiB, TiB"), ("_ms", "time: ms, s, m, h"), ("_share", "share: %"))
TYPES = {"string": "text", "uint32": "number", "uint64": "number", "double": "number ≥ 0",
         "bool": "true or false"}
FIELD = re.compile(r"(repeated |optional )?([\w.]+) (\w+) = \d+;(?: *//.*)?$")

HEAD = """# deploy/config
The reference of the daemon's configuration. [penstock.yaml](penstock.yaml) has every key with its
default; a key that is left out has its default. Sizes, times and shares carry their units: `4GiB`,
`10s`, `0.1%`.

`penstockd --check-syntax FILE` checks a file; `--check-config` also checks whether this user could
start the daemon with it here and now. For an error they name the file, the line and what was
expected. `penstockctl reload` makes a running daemon read its file again: keys marked ↻ change at
once, the others need a restart.

`reference.py` generates this page from the comments in `proto/penstock/config/v1/config.proto`.
"""

# The keys that server/app/config/config_diff.cc allows to change at a reload. A test compares the two.
RELOADED = {"datasets", "limits.max_pool_per_user", "limits.max_quarantined",
            "limits.max_quarantined_minimum", "limits.max_sessions_per_user",
            "limits.max_workers_per_user", "log.level", "server.drain_for", "server.max_sessions",
            "stores.places"}


def load(path):
    """Returns the file's text and that of the files that it imports."""
    path = pathlib.Path(path).resolve()
    text = path.read_text(encoding="utf-8")
    root = path.parents[3]  # of penstock/config/v1/config.proto
    return "\n".join([text, *map(load, (root / name for name in re.findall(r'(?m)^import "(.+)";', text)))])


class Message:
    def __init__(self, name, words):
        self.name, self.words, self.fields, self.enums = name, words, [], {}


def parse(text):
    """Returns the messages by name, in file order; fields are (name, type, repeated, words)."""
    messages, message, enum, words = {}, None, None, []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("//"):
            words.append(line[2:].strip())
        elif match := re.match(r"message (\w+) \{", line):
            message = messages[match[1]] = Message(match[1], " ".join(words).strip())
            words = []
        elif match := re.match(r"enum (\w+) \{", line):
            enum = message.enums[match[1]] = []
        elif enum is not None and (match := re.match(r"[A-Z]+_(\w+) = (\d+);", line)):
            if match[2] != "0":
                enum.append(match[1].lower())
        elif line == "}":
            if enum is None:
                message = None
            enum, words = None, []
        elif message is not None and (match := FIELD.match(line)):
            message.fields.append((match[3], match[2], (match[1] or "").strip() == "repeated",
                                   " ".join(words).strip()))
            words = []
        elif not line:
            words = []
    return messages


def key_and_kind(message, name, kind, repeated):
    for suffix, unit in UNITS:
        if name.endswith(suffix):
            return name[: -len(suffix)], unit
    if kind in message.enums:
        return name, " or ".join(message.enums[kind])
    kind = TYPES.get(kind, f"[{kind}](#{kind.lower()})")
    return name, f"list of {kind}" if repeated else kind


def cell(words):
    return words.replace("|", "\\|") or "See the key above."


def paragraph(words):
    return textwrap.fill(words, 100, break_long_words=False, break_on_hyphens=False)


def section(message, title, prefix):
    lines = [f"\n## {title}", paragraph(message.words), "", "| key | value | meaning, range, default |", "|---|---|---|"]
    for name, kind, repeated, words in message.fields:
        key, shown = key_and_kind(message, name, kind, repeated)
        mark = " ↻" if prefix + key in RELOADED else ""
        lines.append(f"| `{key}`{mark} | {shown} | {cell(words)} |")
    return lines


def reference(text):
    messages = parse(text)
    config = messages.pop("Config")
    names = {kind: name for name, kind, _, _ in config.fields}
    lines = [HEAD.rstrip()]
    for name, kind, repeated, words in config.fields:
        if not repeated:
            lines += section(messages.pop(kind), f"{name}:", name + ".")
        else:
            lines += [f"\n## {name}: ↻", paragraph(f"{words} Each entry is a [{kind}](#{kind.lower()}).")]
    for message in messages.values():
        lines += section(message, message.name, "")
    assert set(names) >= {"Server", "Pool", "Dataset"}, names
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: reference.py CONFIG.PROTO")
    sys.stdout.write(reference(load(sys.argv[1])))

#!/usr/bin/python3
"""The manual page of the configuration, made of what its messages say of themselves.

    deploy/man/config_page.py proto/penstock/config/v1/config.proto > deploy/man/penstock.yaml.5

Python's standard library, and deploy/config/reference.py, which reads the messages.
"""
import importlib.util
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent

HEAD = r""".\" Made by config_page.py of the comments in config.proto.
.TH PENSTOCK.YAML 5 "" "Penstock" "Penstock"
.SH NAME
penstock.yaml \- configuration of the daemon penstockd
.SH SYNOPSIS
.I /etc/penstock/penstock.yaml
.SH DESCRIPTION
What
.BR penstockd (8)
reads with
.BR \-\-config :
a file in YAML, in blocks of keys.
What is left out has its default.
Sizes, times and shares carry their units: 4GiB, 10s, 0.1%.
.PP
.B penstockd \-\-check\-config
.I FILE
says whether a file is right, with the line and what was expected there.
A daemon that runs reads its file again at
.BR "penstockctl reload" ;
keys marked
.I (reload)
change then, the others need a restart.
"""

TAIL = r""".SH EXAMPLE
.nf
server:
  group: penstock
pool:
  max: 16GiB
workers:
  auto: true
datasets:
  - name: photographs
    folder: /data/photographs
  - name: tokens
    tokens: {files: ["/data/train_{000..103}.bin"], length: 2048}
.fi
.SH FILES
.TP
.I /etc/penstock/penstock.yaml
What the daemon of the system reads.
.TP
.I /usr/share/penstock/penstock.yaml
Every key with its default.
.SH SEE ALSO
.BR penstockd (8),
.BR penstockctl (1)
"""


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", HERE.parent / "config/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = load_reference()


def plain(words):
    """Text as troff takes it: no request at a line's beginning, no escape but ours."""
    words = re.sub(r"\[(\w+)\]\(#\w+\)", r"\1", words).replace("`", "")
    words = words.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", words)


def sentences(words):
    """Each on a line of its own, as man pages are written."""
    return plain(re.sub(r"(?<=[.:])\s+(?=[A-Z])", "\n", re.sub(r"\s+", " ", words.strip())))


def keys(message, prefix):
    lines = []
    for name, kind, repeated, words in message.fields:
        key, shown = reference.key_and_kind(message, name, kind, repeated)
        mark = " \\fI(reload)\\fR" if prefix + key in reference.RELOADED else ""
        lines += [".TP", f"\\fB{plain(key)}\\fR: {plain(shown)}{mark}", sentences(words or "With the one above.")]
    return lines


def page(text):
    messages = reference.parse(text)
    config = messages.pop("Config")
    lines = [HEAD.rstrip()]
    for name, kind, repeated, words in config.fields:
        lines.append(f".SH {name}:")
        if repeated:
            mark = " \\fI(reload)\\fR" if name in reference.RELOADED else ""
            lines += [f"A list of {plain(kind)}s, see below.{mark}", sentences(words)]
            continue
        message = messages.pop(kind)
        lines += [sentences(message.words)] * bool(message.words) + keys(message, name + ".")
    for message in messages.values():
        lines.append(f'.SH "{message.name}"')
        lines += [sentences(message.words)] * bool(message.words) + keys(message, "")
    return "\n".join(lines) + "\n" + TAIL


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: config_page.py CONFIG.PROTO")
    sys.stdout.write(page(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))

"""Checks a folder of bundled libraries: its libjbig must be ours, and all licences must be present."""
import pathlib
import re
import subprocess
import sys

OURS = "JBIG is not part of Penstock"
SAYS = "import ctypes, sys; says = ctypes.CDLL(sys.argv[1]).jbg_strerror; says.restype = ctypes.c_char_p; print(says(1).decode())"
OWN = re.compile(r"lib(penstock|jbig)\.so")


def defined(library):
    """Returns the names of the symbols that a library exports."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].partition("@")[0] for line in listed.splitlines()}


def error_text(libjbig):
    return subprocess.run([sys.executable, "-c", SAYS, libjbig], check=True, capture_output=True, text=True).stdout.strip()


def problems(lib, licences):
    """Yields a description of each problem with the libraries in `lib` and their licences."""
    lib, licences = pathlib.Path(lib), pathlib.Path(licences)
    if error_text(lib / "libjbig.so.0") != OURS:
        yield "libjbig.so.0 is not server/decode/no_jbig"
    if (licences / "libjbig0").exists():
        yield "there is a licence of Debian's libjbig0"
    for library in sorted(lib.glob("*.so*")):
        if not OWN.match(library.name):
            yield from without_licence(library, licences)
    for copyright in filter(pathlib.Path.is_file, licences.iterdir()):
        for text in set(re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", copyright.read_text(errors="replace"))):
            there = pathlib.Path("/usr/share/common-licenses", text).exists()
            if there and not (licences / "common-licenses" / text).exists():
                yield f"{copyright.name} refers to {text}, which is missing"


def without_licence(library, licences):
    """Yields a problem if `licences` has no licence of a Debian package with a library of this name."""
    asked = subprocess.run(["dpkg-query", "-S", f"*/{library.name}"], capture_output=True, text=True).stdout
    packages = {line.partition(":")[0] for line in asked.splitlines()}
    if not any((licences / package).is_file() for package in packages):
        yield f"{library.name} has no licence, nor has any of {sorted(packages)}"

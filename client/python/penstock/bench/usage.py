"""CPU time and memory of a trainer, its workers and its private daemon."""
import os

from .side import _family, _pss


def daemon_in(folder):
    """The private daemon that has its files below `folder`; None if there is none."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue  # it has ended
        if b"--private" in words and any(word.startswith(os.fsencode(folder) + b"/") for word in words):
            return int(name)
    return None


def _all(roots, folder):
    daemon = daemon_in(folder)
    families = [_family(root) for root in (*roots, *([daemon] if daemon else ()))]
    return set().union(*families)


def memory_mib(roots, folder):
    """Memory of these processes, their descendants and the daemon in `folder`; shared pages count once in all."""
    return sum(map(_pss, _all(roots, folder))) / 2**20


def cpu_seconds():
    """CPU time of this process, its descendants and the daemon in $XDG_RUNTIME_DIR."""
    return sum(map(_cpu, _all([os.getpid()], os.environ.get("XDG_RUNTIME_DIR", "/nowhere"))))


def cpu_seconds_of(roots):
    """CPU time of these processes and their descendants."""
    return sum(map(_cpu, set().union(*map(_family, roots))))


def _cpu(pid):
    """CPU time, user and system, of a process and of those children that it has waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0  # it has ended

"""What a forked host and a forked worker change about themselves, and what they leave as the trainer had it.

Nothing of the trainer's is finalised in them: its garbage stays where it is, and they end by os._exit, without atexit
handlers.
"""
import contextlib
import faulthandler
import gc
import os
import signal
import sys
from typing import Dict, List

from .. import _penstock as native

# Those for which programs have handlers, which are of no use in a host.
_SIGNALS = (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGINT)
END = signal.SIGRTMAX - 5  # the host asks a worker to end
_is_busy = False   # the worker runs code of the program
_is_asked = False  # to end
_kept: List[object] = []  # the trainer's objects that nobody else may hold
_dispositions: Dict[int, object] = {}  # what the trainer did on signals; in its children


@contextlib.contextmanager
def collecting_nothing():
    """For a fork: the child would finalise the trainer's garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def without_interrupts():
    """For a fork: Ctrl-C waits until the trainer has its host in hand. It also goes to the child, which would run on as a
    second trainer if it raised there; become_host ends the waiting."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # may raise for one that came before
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def become_host():
    """Leaves the trainer's signals, terminal and garbage alone."""
    gc.disable()
    gc.freeze()
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        _dispositions[number] = signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the trainer decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(None)


def become_worker(words):
    """`words`: a descriptor for a crash's traceback. Signals do what they do in torch's workers: SIGTERM ends them, and the
    others what they did in the trainer. The terminal's do not come here, because a worker has a process group of its own."""
    for number, disposition in _dispositions.items():
        if number != signal.SIGTERM and disposition is not None:  # None: a library's, which Python cannot set
            signal.signal(number, disposition)
    signal.signal(END, _end)
    _begin_multiprocessing()
    faulthandler.enable(words, all_threads=False)
    _kept.append(sys.stdin)
    sys.stdin = open(os.devnull)
    os.setsid = _setsid_of(os.getpid(), os.setsid)
    gc.freeze()  # what was there before the fork is the trainer's
    gc.enable()
    native.keep_freed_memory()


class Ended(BaseException):
    """The host has asked this worker to end."""


def busy(is_busy):
    """Whether the worker runs code of the program from now on. Raises Ended if it need not."""
    global _is_busy
    _is_busy = is_busy
    if _is_asked and not is_busy:
        raise Ended


def _end(*_):
    global _is_asked
    _is_asked = True
    if not _is_busy:
        raise Ended
    from multiprocessing import util
    if not util._finalizer_registry:  # else after this batch, if the host waits that long
        os._exit(0)


def finish():
    """Sends what is in queues of multiprocessing, and does all else that its own processes do at their end. A process that
    is killed while it writes to a queue leaves half a message there, behind which nobody can read."""
    from multiprocessing import util
    util._exit_function()


def _begin_multiprocessing():
    """As multiprocessing's own processes begin: queues get threads of their own, managers' proxies connections, and the
    trainer's children are not waited for."""
    from multiprocessing import process, util
    util._finalizer_registry.clear()
    process._children = set()
    util._run_after_forkers()


def _setsid_of(worker, setsid):
    """os.setsid for a worker. The leader of a group may not begin a session, so it leaves its group first."""

    def begin_session():
        if os.getpid() == worker and os.getsid(0) != worker and os.getpgid(0) == worker:
            os.setpgid(0, os.getpgid(os.getppid()))
            try:
                return setsid()
            except PermissionError as error:
                os.setpgid(0, 0)
                raise PermissionError(error.errno, "os.setsid in a Python worker: processes that it has started are in its "
                                      "process group, which it must leave; call it before they start, or wait for "
                                      "their end") from None
        return setsid()

    return begin_session

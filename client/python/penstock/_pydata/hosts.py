"""The host: a process that the trainer forks, and that forks the Python workers which the daemon wants.

In the trainer, `fork` starts one, and `Host` keeps it. The child runs `_main` and never returns. It forks on demand, keeps
the dataset as it was at its own fork, and does nothing else.
"""
import _thread
import atexit
import os
import signal
import socket
import sys
import threading
import time
import warnings
from typing import List, Set, Tuple

from .. import _penstock as native
from .._say import say
from ..errors import Error, Unavailable
from . import process

ENTER_SECONDS = 10.0
_LOOK_SECONDS = 0.5  # how often a host looks for ended workers although nobody told it
_MOST_LEFT = 2       # hosts that this process needs no more and that others may still need
_FINISH_SECONDS = 0.5  # how long its workers may take to send what is in their queues
_END_SECONDS = 2.0   # how long a host that was told to end may take
_living: Set["Host"] = set()  # hosts that are not reaped, so that no socket of theirs is closed as garbage before
_left: List["Host"] = []  # those of them that this process needs no more, the oldest first
_ending: List[Tuple["Host", float]] = []  # those of them that were told to end
_turn = threading.RLock()  # of the thread that forks or reaps
_awaits = False  # a thread reaps


def _forget():
    """In a forked child: hosts are its parent's."""
    global _turn, _awaits
    _turn, _awaits = threading.RLock(), False
    for host in _living:
        host._life.close()
    _living.clear()
    _left.clear()
    _ending.clear()


os.register_at_fork(after_in_child=_forget)


class Host:
    """A host in the trainer's hands. `fork` makes it; end it by `end`."""

    def __init__(self, pid, life):
        self.pid, self._life = pid, life
        self._owner = os.getpid()
        self.is_there = True
        _living.add(self)

    def reap(self):
        """Whether it has ended. Tells why if it could not go on."""
        if not self.is_there or os.getpid() != self._owner:
            return True
        with _turn:
            return not self.is_there or self._has_ended()

    def _has_ended(self):
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else has reaped it
            pid, status = self.pid, 0
        if pid == 0:
            return False
        self.is_there = False
        _living.discard(self)
        words = self._last_words()
        if status != 0 and words:
            say(f"the process that was forked to make batches ended: {words}")
        self._life.close()
        return True

    def _last_words(self):
        self._life.setblocking(False)
        try:
            return self._life.recv(4096).decode("utf-8", "replace")
        except OSError:
            return ""

    def end(self):
        """Tells it to end, with its workers. Does not wait."""
        if self.reap() or any(host is self for host, _ in _ending):
            return
        try:
            self._life.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        _ending.append((self, time.monotonic() + _END_SECONDS))
        _await_ends()

    def leave(self):
        """This process needs it no more; other trainers with the same dataset may. The daemon ends it when none does."""
        if not self.reap():
            _left.append(self)
            _await_ends()


def reap():
    """Reaps hosts that were told to end, and kills those that did not obey."""
    now = time.monotonic()
    with _turn:
        _left[:] = [host for host in _left if not host.reap()]
        for host in _left[:-_MOST_LEFT]:
            host.end()
        for each in list(_ending):
            host, deadline = each
            if not host.reap() and now > deadline:
                os.kill(host.pid, signal.SIGKILL)
            if not host.is_there:
                _ending.remove(each)


def _await_ends():
    """Reaps the hosts that end, in a thread that lasts as long as they do: a program may never use a loader again. It is
    begun by finalizers, too, which must not use `threading`: its locks may be held where they run."""
    global _awaits
    with _turn:
        if _awaits:
            return
        _awaits = True
    try:
        _thread.start_new_thread(_reap_all, ())
    except RuntimeError:  # the process ends, or may have no more threads
        _awaits = False


def _reap_all():
    global _awaits
    pause, until = 0.001, time.monotonic() + _END_SECONDS
    while True:
        reap()
        with _turn:
            if not (_ending or (_left and time.monotonic() < until)):
                _awaits = False
                return
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _end_all():
    for host in list(_living):
        host.end()
    deadline = time.monotonic() + _END_SECONDS + 1
    while _ending and time.monotonic() < deadline:
        reap()
        if _ending:
            time.sleep(0.005)


atexit.register(_end_all)


def fork(address, token, program, work):
    """Forks a host. `work`: a function for its workers, worker.run with all but the first arguments. OSError: it cannot be
    forked."""
    with _turn:
        return _fork_host(address, token, program, work)


def _fork_host(address, token, program, work):
    reap()
    _flush()
    trainer = os.pidfd_open(os.getpid())
    life, child_life = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with process.collecting_nothing():
        try:
            pid = _fork()
        except OSError:
            os.close(trainer)
            raise
        if pid == 0:
            life.close()
            _main(address, token, program, trainer, child_life.detach(), work)
    os.close(trainer)
    child_life.close()
    return Host(pid, life)


def _fork():
    with warnings.catch_warnings():  # Python 3.12 warns of threads, which the children do not need
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _flush():
    """What is buffered would be written by each child again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            pass


def _main(address, token, program, trainer, life, work):
    """Never returns."""
    status = 1
    try:
        process.become_host()
        status = _run(address, token, program, trainer, life, work)
    except BaseException as error:
        _tell(life, f"{type(error).__name__}: {error}")
    finally:
        os._exit(status)


def _tell(life, words):
    try:
        with socket.socket(fileno=os.dup(life)) as end:
            end.send(words.encode()[:4096])
    except OSError:
        pass


def _run(address, token, program, trainer, life, work):
    """The exit status."""
    words_end = os.dup(life)
    try:
        host = native.MakerHost.enter(address, token, program, trainer, life, ENTER_SECONDS)
    except Error as error:
        _tell(words_end, str(error))
        return 1
    os.close(words_end)
    host.close_inherited()
    pid = os.getpid()
    while True:
        try:
            wanted = host.next(_LOOK_SECONDS)
        except Error:  # the trainer or the daemon has ended, or has no use for it any more
            host.ask_to_end(process.END, _FINISH_SECONDS)
            del host   # kills those that are left
            return 0
        for place, start in wanted:
            words = host.make_words(place)
            try:
                child = _fork()
            except OSError as error:
                host.fail(f"a worker cannot be forked: {error}; look at the limits for processes and memory (ulimit "
                          "-u, the container's pids.max)")
                return 1
            if child == 0:
                _worker(host, pid, place, start, words, address, token, work)
            host.note_forked(place, start, child)


def _worker(host, pid, place, start, words, address, token, work):
    """Never returns."""
    status = 1
    try:
        host.leave_in_worker(place)
        native.end_with_host(pid)
        work(address, token, place, start, words)
        status = 0
    except (Unavailable, KeyboardInterrupt, process.Ended):  # the daemon or the host has ended
        status = 0
    except BaseException:
        import traceback
        os.write(words, traceback.format_exc().encode()[-480:])
    finally:
        _flush()
        os._exit(status)

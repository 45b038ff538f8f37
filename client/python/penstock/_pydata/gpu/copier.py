"""Copies memory in threads of its own, so that the trainer's thread goes on meanwhile."""
import atexit
import ctypes
import os
import queue
import threading
import weakref

WORTH_A_THREAD = 1 << 20  # bytes; less is copied at once, which takes less time than to wake a thread
_PART = 4 << 20           # bytes, at least, for each thread
_END_SECONDS = 5.0
_copiers: "weakref.WeakSet[Copier]" = weakref.WeakSet()


def threads():
    """One thread copies less than a GPU takes; more than a few keep the cores from the workers."""
    return max(1, min(4, len(os.sched_getaffinity(0)) // 4))


class Copy:
    """Of [(to, from, bytes)], three integers each. `kept`: what keeps the memory alive until it is done."""

    def __init__(self, pieces, kept):
        self.pieces, self._kept = pieces, kept
        self._done, self._lock, self._left = threading.Event(), threading.Lock(), 0

    def is_done(self):
        return self._done.is_set()

    def wait(self):
        self._done.wait()

    def parts(self, count):
        """The pieces in up to `count` lists of about the same size."""
        total = sum(piece[2] for piece in self.pieces)
        size = max(_PART, -(-total // count))
        parts, room = [[]], size
        for to, source, nbytes in self.pieces:
            at = 0
            while at < nbytes:
                if room == 0:
                    parts.append([])
                    room = size
                taken = min(room, nbytes - at)
                parts[-1].append((to + at, source + at, taken))
                at, room = at + taken, room - taken
        self._left = len(parts)
        return parts

    def note_part(self):
        with self._lock:
            self._left -= 1
            if self._left > 0:
                return
        self._kept = None
        self._done.set()


class Copier:
    """The threads only copy and drop references: they never call torch, CUDA or code of the program. They start with
    the first large copy and end with `end`, or with this object."""

    def __init__(self):
        self._jobs, self._threads, self._waiting = None, [], []

    def copy(self, pieces, kept):
        """A Copy, which is done now if it is small, and begins with `go` else."""
        copy = Copy(pieces, kept)
        if sum(piece[2] for piece in pieces) < WORTH_A_THREAD:
            _copy(pieces)
            copy.note_part()
            return copy
        jobs = self._start()
        self._waiting += [(jobs, (part, copy)) for part in copy.parts(len(self._threads))]
        return copy

    def drop(self, holder):
        """Empties the list `holder`. To end the last reference to a batch may take as long as to read it."""
        if self._jobs is None:
            holder.clear()
        else:
            self._waiting.append((self._jobs, (holder, None)))

    def go(self):
        """Begins what was given. The caller calls it last of all, because each thread that wakes wants the GIL."""
        waiting, self._waiting = self._waiting, []
        for jobs, job in waiting:
            jobs.put(job)

    def end(self):
        self.go()
        jobs, those, self._jobs, self._threads = self._jobs, self._threads, None, []
        for _ in those:
            jobs.put(None)
        for thread in those:
            thread.join(_END_SECONDS)

    def __del__(self):
        for jobs, job in self._waiting:
            jobs.put(job)
        for _ in self._threads:
            self._jobs.put(None)

    def _start(self):
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            self._threads = [threading.Thread(target=_run, args=(self._jobs,), name="penstock-copier", daemon=True)
                             for _ in range(threads())]
            for thread in self._threads:
                thread.start()
            _copiers.add(self)
        return self._jobs


def _run(jobs):
    while True:
        job = jobs.get()
        if job is None:
            return
        what, copy = job
        if copy is None:
            what.clear()
        else:
            _copy(what)
            copy.note_part()
        del job, what, copy


def _copy(pieces):
    for to, source, nbytes in pieces:
        ctypes.memmove(to, source, nbytes)  # without the GIL


def _end_all():
    """A thread that copies while the interpreter ends would use memory that is not there any more."""
    for copier in list(_copiers):
        copier.end()


atexit.register(_end_all)

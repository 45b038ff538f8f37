"""A small event loop for coroutines that serve sockets, faster than asyncio for what is needed here:
each socket is registered once, edge-triggered, and is tried before it is waited for.

Everything runs on the thread of Loop.run, except Loop.post.
"""
import collections
import heapq
import itertools
import os
import select
import socket
import sys
import time
import traceback
import types

SWEEP_S = 1.0
_EVENTS = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET


@types.coroutine
def _pause():
    yield


class Watch:
    """A socket that a task may wait for, one task at a time."""

    __slots__ = ("task", "deadline", "late")

    def __init__(self):
        self.task, self.deadline, self.late = None, 0.0, False


class Loop:
    def __init__(self):
        self._epoll = select.epoll()
        self._watches, self._timers, self._ready = {}, [], collections.deque()
        self._order, self._posted = itertools.count(), collections.deque()
        self._task = None
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake, select.EPOLLIN)

    def spawn(self, coroutine):
        """Starts a task, which runs to its end. It handles its own errors."""
        self._ready.append(coroutine)

    def post(self, function):
        """Has the loop's thread call a function soon. Any thread may call this."""
        self._posted.append(function)
        os.eventfd_write(self._wake, 1)

    def watch(self, sock):
        sock.setblocking(False)
        self._watches[sock.fileno()] = found = Watch()
        self._epoll.register(sock.fileno(), _EVENTS)
        return found

    def forget(self, sock):
        """Call this before the socket is closed. A task that waits for it is told so."""
        watch = self._watches.pop(sock.fileno(), None)
        if watch is not None:
            self._epoll.unregister(sock.fileno())
            watch.late = True
            self._resume(watch)

    async def ready(self, watch, seconds):
        """Waits until the socket may be tried again; returns False if that takes too long."""
        watch.task, watch.late = self._task, False
        watch.deadline = time.monotonic() + seconds
        await _pause()
        return not watch.late

    async def sleep_until(self, moment):
        heapq.heappush(self._timers, (moment, next(self._order), self._task))
        await _pause()

    async def sleep(self, seconds):
        await self.sleep_until(time.monotonic() + seconds)

    def _resume(self, watch):
        task, watch.task = watch.task, None
        if task is not None:
            self._ready.append(task)

    def _sweep(self, now):
        for watch in list(self._watches.values()):
            if watch.task is not None and now > watch.deadline:
                watch.late = True
                self._resume(watch)

    def _step(self):
        self._task = self._ready.popleft()
        try:
            self._task.send(None)
        except StopIteration:
            pass
        except Exception:  # a bug: say so and serve the others
            traceback.print_exc(file=sys.stderr)

    def run(self):
        sweep_at = time.monotonic() + SWEEP_S
        while True:
            while self._posted:
                self._posted.popleft()()
            while self._ready:
                self._step()
            now = time.monotonic()
            due = min(sweep_at, self._timers[0][0] if self._timers else sweep_at)
            if due > now:  # epoll waits whole milliseconds, select what one asks for
                select.select((self._epoll,), (), (), due - now)
            for number, _ in self._epoll.poll(0, 1024):
                if number == self._wake:
                    os.eventfd_read(self._wake)
                elif number in self._watches:
                    self._resume(self._watches[number])
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                self._ready.append(heapq.heappop(self._timers)[2])
            if now >= sweep_at:
                self._sweep(now)
                sweep_at = now + SWEEP_S


async def accept(loop, listener, watch, serve):
    """Starts a task serve(socket) for each connection, until the listener is closed."""
    while True:
        try:
            sock, _ = listener.accept()
        except BlockingIOError:
            await loop.ready(watch, 3600)
            continue
        except OSError as error:
            if listener.fileno() < 0 or error.errno == 22:  # EINVAL: shut down
                return
            await loop.sleep(0.05)  # out of descriptors
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop.spawn(serve(sock))

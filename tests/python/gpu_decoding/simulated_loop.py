"""A simulated training loop, with workers and engines of given speeds, in a time of its own."""
from unittest import mock

from penstock._gpu_decoding import look, share as shares
from penstock._gpu_decoding.asked import Decoding
from penstock._gpu_decoding.share import GpuShare

STEP = 0.064  # seconds
AHEAD = 6  # batches that are decoded ahead


class Loop:
    """A loop of `rows` images a step, and workers that decode `rate` images/s, `AHEAD` batches ahead at most. They begin after `start`
    seconds. `work(i)`: seconds that step i takes on the GPU; the loop is at most `AHEAD` steps ahead of it, and then waits, in its own
    work or, if `waits_for_gpu`, for a batch. The engines decode `engines()` images/s alone, and `most` beside training. A file that workers hand on costs `handed_on` of decoding it, and
    `at_first` in the first epoch. An epoch has `steps` steps."""

    def __init__(self, rate, work=lambda i: STEP, rows=256, start=2.0, engines=lambda: 20_000.0, handed_on=0.12, most=12_000, steps=20,
                 at_first=None, waits_for_gpu=False):
        self.alone, self.work, self.rows, self.engines = rate, work, rows, engines
        self.handed_on, self.most, self.steps, self.at_first = handed_on, most, steps, at_first or handed_on
        self.waits_for_gpu = waits_for_gpu
        self.epoch = 0
        self.now, self.ready, self.starts = 100.0, 0.0, 100.0 + start
        self.waited, self.taking = 0.0, 0.0
        self.free = []  # when the GPU will have done the steps that it was given
        self.share, self.said, self.tried = GpuShare(Decoding("auto", None)), "", []
        self.open()

    def open(self):
        """A session, with the share that is set."""
        share = self.share.value
        self.tried.append(share)
        self.ready = 0.0
        self.set_rate(share)

    def set_rate(self, share):
        handed_on = self.handed_on if self.epoch else self.at_first
        self.rate = self.alone / (1 - (1 - handed_on) * share)
        if share:
            self.rate = min(self.rate, self.most / share)

    def passes_until(self, then):
        decoding = max(0.0, then - max(self.now, self.starts))
        self.ready = min(self.ready + self.rate * decoding, AHEAD * self.rows)
        self.now = max(self.now, then)

    def synchronize(self):
        self.passes_until(self.free[-1] if self.free else self.now)

    def wait_for_gpu(self):
        if len(self.free) >= AHEAD:
            self.passes_until(self.free[-AHEAD])

    def take(self):
        began = self.now
        if self.waits_for_gpu:
            self.wait_for_gpu()
        if self.ready < self.rows:
            self.passes_until(max(self.now, self.starts) + (self.rows - self.ready) / self.rate)
        self.waited += self.now - began
        self.ready = max(0.0, self.ready - self.rows)
        self.passes_until(self.now + self.taking)

    def train(self, most=20_000, pause=lambda i: 0.0, first=0):
        """The steps after which a share was chosen, from step `first` on."""
        with mock.patch.object(look.time, "monotonic", lambda: self.now), mock.patch.object(shares, "say", self.say):
            self.share.note_device(0)
            for i in range(first, first + most):
                self.steps_done = i
                if i == self.steps and self.epoch == 0:
                    self.epoch = 1
                    self.set_rate(self.share.value)
                self.epoch = max(self.epoch, i // self.steps)
                if self.share.is_due(self.synchronize, lambda: self.waited, self.epoch):
                    self.choose()
                if self.share.is_chosen:
                    return i
                self.take()
                self.share.note_given(lambda: self.waited)
                self.free.append(max([self.now, *self.free[-1:]]) + self.work(i))
                self.passes_until(self.now + pause(i))
                if not self.waits_for_gpu:
                    self.wait_for_gpu()
        return None

    def choose(self):
        before, self.share = self.share, self.share.after_choice(self.rows, self.engines)
        if self.share.value != before.value:
            self.open()
            self.share.note_device(0)

    def say(self, text):
        self.said = text

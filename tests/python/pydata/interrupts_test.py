"""Tests KeyboardInterrupt at every place of next(iterator): at most the batch that was being taken is lost, none comes twice."""
import itertools
import os
import pathlib
import sys
import unittest
from unittest import mock

from python_datasets import Counting, Shaped, Stateful
from workers_test import WorkersTest

import penstock  # noqa: E402
from penstock._pydata import plans  # noqa: E402

PACKAGE = str(pathlib.Path(penstock.__file__).parent)
EVERY = int(os.environ.get("PENSTOCK_TEST_EVERY", "7"))  # one of so many places is tested
FIRST = [int(1.6 ** power) for power in range(5, 30)]  # places of the first batch, which has many
MAP = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13]]
STREAMS = [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11], [12], [13]]


class Interrupting:
    """Raises KeyboardInterrupt at place `number` of Penstock's Python code: before a line, or when a function returns."""

    def __init__(self, number):
        self.left, self.where = number, None

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._enter)

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _enter(self, frame, event, _):
        return self._step if frame.f_code.co_filename.startswith(PACKAGE) else None

    def _step(self, frame, event, _):
        if event in ("line", "return") and self.where is None:
            self.left -= 1
            if self.left < 0:
                self.where = f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_lineno} {event}"
                raise KeyboardInterrupt
        return self._step


def given(iterator):
    return [(batch[0] if isinstance(batch, list) else batch).tolist() for batch in iterator]


def interrupted(iterator, at, interrupting):
    """What the loop gets if an interrupt comes at its batch `at`; None if that was over before."""
    got = given(itertools.islice(iterator, at))
    try:
        with interrupting:
            got += given([next(iterator)])
    except KeyboardInterrupt:
        return got + given(iterator)
    except StopIteration:
        pass
    return None


class InterruptsTest(WorkersTest):
    def check(self, make, expected, at, places=None, ahead=0):
        """`ahead`: how many batches behind the one at `at` may be on their way, too."""
        without = [expected[:lost] + expected[lost + 1:] for lost in range(at, at + 1 + ahead)]
        for number in places or itertools.count(at % EVERY, EVERY):
            loader, interrupting = make(), Interrupting(number)
            iterator, epoch = iter(loader), loader.epoch
            got = interrupted(iterator, at, interrupting)
            if got is None:
                self.assertGreater(number, 20)
                return
            with self.subTest(at=at, where=interrupting.where):
                self.assertIn(got, [expected, *without])
                self.assertEqual(given(iterator), [], "the same iterator has begun another epoch")
                self.assertEqual(given(loader), expected)
                self.assertIn(loader.epoch - epoch, (1, 2))
            if not loader.persistent_workers:
                loader.close()

    def test_a_map_style_dataset(self):
        for at in (1, 3):
            self.check(lambda: self.loader(Shaped(int, 14), batch_size=4), MAP, at)

    def test_the_first_batch(self):
        self.check(lambda: self.loader(Shaped(int, 14), batch_size=4), MAP, 0, FIRST)
        self.check(lambda: self.loader(Stateful(14), batch_size=3), STREAMS, 0, FIRST)

    def test_batches_of_this_process(self):
        for at in (0, 1, 3):
            self.check(lambda: self.loader(Shaped(int, 14), batch_size=4, num_workers=0), MAP, at)

    def test_persistent_workers(self):
        loader = self.loader(Shaped(int, 14), batch_size=4, persistent_workers=True)
        for at in (0, 1, 3):
            self.check(lambda: loader, MAP, at)

    def test_streams(self):
        for dataset, at in ((Counting(14), 1), (Stateful(14), 5)):
            self.check(lambda: self.loader(dataset, batch_size=3), STREAMS, at)  # noqa: B023

    def test_between_parts_of_an_order_of_unknown_length(self):
        class Unsized:
            def __iter__(self):
                return iter(range(14))

        with mock.patch.object(plans, "PART", 2):
            self.check(lambda: self.loader(Shaped(int, 14), batch_size=4, sampler=Unsized(), num_workers=0), MAP, 2, ahead=1)


if __name__ == "__main__":
    unittest.main()

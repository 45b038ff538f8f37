"""Tests how batches get ahead of the loop to a GPU, without one: a batch's tensors, the copier's threads, the order."""
import collections
import threading
import time
import unittest
from unittest import mock

from python_datasets import Pair, Record, numpy, torch
from without_gpu import CpuMove

from penstock._pydata import delivery
from penstock._pydata.gpu import ahead, copier, structure
from penstock._pydata.raised import Raised
from penstock._pydata.replacing import Replaced
from penstock._pydata.sources import NOT_YET
from penstock.errors import FailedPrecondition


class Own:
    """Moves itself."""

    def __init__(self, tensor):
        self.tensor = tensor

    def to(self, device):
        return Own(self.tensor.to(device))


class Bag(collections.UserDict):
    pass


class StructureTest(unittest.TestCase):
    def test_the_tensors_found_are_those_that_change(self):
        t = [torch.full((2,), float(i)) for i in range(9)]
        values = [t[0], (t[0], [t[1], "text", b"bytes", None, 3]), {"a": t[2], "b": {"c": (t[3],)}}, Pair(t[4], t[5]),
                  Record(t[6], numpy.zeros(2)), Bag(x=t[7]), Own(t[8]), [Own(t[8]), t[1]]]
        for value in values:
            changing = []
            structure.changed(value, lambda tensor: changing.append(tensor) or tensor, "to", ("cpu",))
            found = list(structure.tensors_in(value, "to"))
            self.assertEqual([id(tensor) for tensor in found], [id(tensor) for tensor in changing], value)

    def test_torch_itself_moves_what_is_not_plain(self):
        image = torch.arange(24.).reshape(2, 3, 2, 2)
        plain = [image, image.permute(0, 2, 3, 1), image.contiguous(memory_format=torch.channels_last), torch.tensor(1),
                 torch.zeros(3, dtype=torch.bfloat16), image[1], torch.zeros(1, 4, dtype=torch.complex64)]
        others = [image[:, ::2], torch.zeros(1).expand(4), torch.zeros(0), torch.zeros(2, requires_grad=True),
                  torch.nn.Parameter(torch.zeros(2)), image.to_sparse(), torch.zeros(2, dtype=torch.complex64).conj(),
                  torch.quantize_per_tensor(torch.zeros(2), 1.0, 0, torch.qint8), torch.empty(2, device="meta")]
        self.assertEqual([structure.is_plain(tensor) for tensor in plain], [True] * len(plain))
        self.assertEqual([structure.is_plain(tensor) for tensor in others], [False] * len(others))


class CopierTest(unittest.TestCase):
    def setUp(self):
        self.before = threading.active_count()

    def wait_for_threads(self):
        deadline = time.monotonic() + 30
        while threading.active_count() > self.before and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(threading.active_count(), self.before)

    def test_large_copies_are_made_in_threads_and_small_ones_at_once(self):
        mega = 1 << 20
        for sizes, count in (([1000, 0, 77], 4), ([copier.WORTH_A_THREAD], 1), ([3 * mega] * 5, 2),
                             ([9 * mega + 5, 3, 17, 30 * mega + 1], 4)):
            with mock.patch.object(copier, "threads", lambda: count):
                one = copier.Copier()
                olds = [torch.randint(255, (size,), dtype=torch.uint8) for size in sizes]
                news = [torch.zeros_like(old) for old in olds]
                pieces = [(new.data_ptr(), old.data_ptr(), len(old)) for new, old in zip(news, olds)]
                copy = one.copy(pieces, (olds, news))
                is_small = sum(sizes) < copier.WORTH_A_THREAD
                self.assertEqual(copy.is_done(), is_small)
                self.assertEqual(threading.active_count() - self.before, 0 if is_small else count)
                one.go()
                copy.wait()
                self.assertTrue(all(map(torch.equal, news, olds)))
                one.end()
                self.assertEqual(threading.active_count(), self.before)

    def test_parts_have_about_the_same_size_and_all_bytes_once(self):
        pieces = [(0, 1000, 7), (1 << 30, 2 << 30, 50_000_001), (5 << 30, 6 << 30, 9_000_000)]
        for count in (1, 2, 3, 4):
            parts = copier.Copy(pieces, None).parts(count)
            self.assertEqual(len(parts), count)
            sizes = [sum(nbytes for _, _, nbytes in part) for part in parts]
            self.assertLessEqual(max(sizes) - min(sizes), count)
            joined = []
            for to, source, nbytes in sum(parts, []):
                if joined and joined[-1][0] + joined[-1][2] == to:
                    to, source, nbytes = *joined[-1][:2], joined.pop()[2] + nbytes
                joined.append((to, source, nbytes))
            self.assertEqual(joined, pieces)

    def test_the_end_waits_for_the_threads_and_what_follows_is_dropped_at_once(self):
        one, half = copier.Copier(), copier.WORTH_A_THREAD
        memory = torch.zeros(2 * half, dtype=torch.uint8)
        copy = one.copy([(memory.data_ptr(), memory.data_ptr() + half, half)], memory)
        holders = [memory], [memory]
        one.drop(holders[0])
        one.end()
        self.assertTrue(copy.is_done())
        self.assertEqual(threading.active_count(), self.before)
        one.drop(holders[1])
        self.assertEqual(holders, ([], []))

    def test_the_threads_end_with_their_copier(self):
        one, half = copier.Copier(), copier.WORTH_A_THREAD
        memory = torch.zeros(2 * half, dtype=torch.uint8)
        copy = one.copy([(memory.data_ptr(), memory.data_ptr() + half, half)], memory)
        del one
        copy.wait()
        self.wait_for_threads()


class Source:
    """Gives what is in a list: (batch, consumed, last), NOT_YET once, exceptions."""

    def __init__(self, *steps):
        self.steps, self.taken, self.closed, self.waited = list(steps), 0, False, []

    def take(self, wait=True):
        while self.steps:
            step = self.steps.pop(0)
            if step is NOT_YET:
                if not wait:
                    return NOT_YET
                continue
            self.taken += 1
            self.waited.append(wait)
            if isinstance(step, Exception):
                raise step
            return step
        return None

    def states(self):
        return self.taken

    def close(self):
        self.closed = True


class Mover:
    """Makes moves that note what happens to them. `fails`: how often `start` raises for a batch."""

    def __init__(self, rooms=9, fails=()):
        self.rooms, self.fails, self.noted, self.ready = rooms, dict(fails), [], True

    def has_room(self):
        return self.rooms > 0

    def begin(self, batch):
        return self.Moving(self, batch)

    class Moving:
        def __init__(self, mover, batch):
            self.mover, self.batch, self.started = mover, batch, False

        def is_ready(self):
            return self.mover.ready

        def start(self):
            if self.started:
                return
            if self.mover.fails.get(self.batch, 0):
                self.mover.fails[self.batch] -= 1
                raise RuntimeError(f"no memory for {self.batch}")
            self.started = True
            self.mover.noted.append(f"start {self.batch}")

        def arrive(self):
            self.mover.noted.append(f"arrive {self.batch}")


def steps(count):
    return [(f"b{i}", i + 1, i + 1 == count) for i in range(count)]


def all_of(source):
    out = []
    while True:
        taken = source.take()
        if taken is None:
            return out
        out.append((taken[0].batch, *taken[1:]))


class AheadTest(unittest.TestCase):
    def test_batches_come_in_order_and_at_most_two_are_taken_ahead(self):
        source, mover = Source(*steps(6)), Mover()
        mine = ahead.Ahead(source, mover)
        for number in range(6):
            batch, consumed, last = mine.take()
            self.assertEqual((batch.batch, consumed, last), steps(6)[number])
            self.assertTrue(batch.started)
            self.assertLessEqual(source.taken, number + 1 + ahead.DEPTH)
        self.assertIsNone(mine.take())
        self.assertEqual(source.waited, [True] + [False] * 5)
        self.assertEqual([words for words in mover.noted if "arrive" in words], [f"arrive b{i}" for i in range(6)])

    def test_what_is_not_there_is_not_waited_for_ahead(self):
        given = steps(4)
        source = Source(given[0], NOT_YET, given[1], NOT_YET, given[2], given[3])
        self.assertEqual(all_of(ahead.Ahead(source, Mover())), given)
        self.assertEqual(source.waited, [True, True, True, False])

    def test_without_a_free_buffer_nothing_is_taken_ahead(self):
        source = Source(*steps(3))
        mine = ahead.Ahead(source, Mover(rooms=0))
        mine.take()
        self.assertEqual(source.taken, 1)

    def test_a_copy_that_is_not_done_is_not_waited_for_ahead(self):
        mover = Mover()
        mover.ready = False
        mine = ahead.Ahead(Source(*steps(3)), mover)
        mine.take()
        self.assertEqual(mover.noted, ["start b0", "arrive b0"])

    def test_errors_of_the_source_come_in_their_turn_and_it_goes_on_behind_them(self):
        given = steps(4)
        mine = ahead.Ahead(Source(given[0], given[1], ValueError("here"), given[2], given[3]), Mover())
        self.assertEqual([mine.take()[1] for _ in range(2)], [1, 2])
        with self.assertRaisesRegex(ValueError, "here"):
            mine.take()
        self.assertEqual([mine.take()[1] for _ in range(2)], [3, 4])

    def test_a_batch_for_which_there_is_no_memory_is_tried_again_and_not_lost(self):
        mine = ahead.Ahead(Source(*steps(3)), Mover(fails={"b1": 7}))
        self.assertEqual(mine.take()[1], 1)
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "no memory for b1"):
                mine.take()
        self.assertEqual(all_of(mine), steps(3)[1:])

    def test_states_are_those_of_the_batch_that_was_given(self):
        mine = ahead.Ahead(Source(*steps(5)), Mover())
        self.assertEqual(mine.states(), 0)
        for number in range(5):
            mine.take()
            self.assertEqual(mine.states(), number + 1)

    def test_exceptions_of_samples_pass_and_substitutes_keep_their_reasons(self):
        raised = Raised(ValueError("bad"), "somewhere")
        mine = ahead.Ahead(Source((raised, 1, False), (Replaced("b", ((3, "why"),)), 2, True)), Mover())
        self.assertIs(mine.take()[0], raised)
        batch = mine.take()[0]
        self.assertEqual((batch.batch.batch, batch.bad), ("b", ((3, "why"),)))

    def test_the_end_closes_the_source_and_nothing_comes_any_more(self):
        source = Source(*steps(5))
        mine = ahead.Ahead(source, Mover())
        mine.take()
        mine.close()
        self.assertTrue(source.closed)
        self.assertIsNone(mine.take())


class MoveTest(unittest.TestCase):
    def test_a_tensor_that_is_there_twice_becomes_two_and_arrays_stay(self):
        thread, array = copier.Copier(), numpy.arange(3)
        tensor = torch.arange(6).reshape(2, 3).t()
        batch = {"a": tensor, "b": [tensor, tensor[:, :1]], "c": array, "d": "text"}
        move = CpuMove(batch, thread)
        given = move.give()
        self.assertTrue(torch.equal(given["a"], tensor) and torch.equal(given["b"][0], tensor))
        self.assertEqual(given["a"].stride(), tensor.stride())
        self.assertEqual(len({given["a"].data_ptr(), given["b"][0].data_ptr(), tensor.data_ptr()}), 3)
        self.assertTrue(torch.equal(given["b"][1], tensor[:, :1]))
        self.assertIs(given["c"], array)


class DeliveryTest(unittest.TestCase):
    def test_on_the_cpu_a_batch_stays_as_it_is(self):
        batch = [torch.zeros(2)]
        self.assertIs(delivery.of("cpu", False).give(batch), batch)

    def test_a_device_without_memory_of_its_own_is_torchs_affair(self):
        self.assertEqual(delivery.of("meta", False).give([torch.zeros(2)])[0].device.type, "meta")

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_without_a_gpu_it_is_refused_or_left_out(self):
        with self.assertRaisesRegex(FailedPrecondition, "torch sees no GPU; give device='cpu'"):
            delivery.of("cuda:1", False)
        self.assertIsInstance(delivery.of("auto", True).give([torch.zeros(2)])[0], torch.Tensor)


if __name__ == "__main__":
    unittest.main(verbosity=2)

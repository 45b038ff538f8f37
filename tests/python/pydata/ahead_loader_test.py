"""Repeats the tests of workers and iterators with batches that are taken ahead of the loop, as for a GPU, in ordinary
memory: nothing that a program sees may differ."""
import threading
import time
import unittest

from iterators_test import SeveralTest, WordsTest  # noqa: F401
from python_datasets import Shaped, torch
from without_gpu import deliver
from workers_test import ErrorTest, InsideTest, IterableTest, ProcessesTest, SameBytesTest, WorkersTest  # noqa: F401

from penstock._pydata import delivery
from penstock._pydata.gpu import copier

delivery.of = deliver
copier.WORTH_A_THREAD = 1 << 12


def copiers():
    return [thread for thread in threading.enumerate() if thread.name == "penstock-copier"]


class AheadTest(WorkersTest):
    def rows(self, **keywords):
        return self.loader(Shaped(lambda i: torch.full((2000,), float(i)), 24), batch_size=2, **keywords)

    def test_batches_ahead_of_the_loop_do_not_count(self):
        whole = [batch[:, 0].tolist() for batch in self.rows()]
        for taken in range(1, 12):
            first = self.rows()
            iterator = iter(first)
            got = [next(iterator)[:, 0].tolist() for _ in range(taken)]
            state = first.state_dict()
            time.sleep(0.01)
            other = self.rows()
            other.load_state_dict(state)
            self.assertEqual(got + [batch[:, 0].tolist() for batch in other], whole)
            first.load_state_dict(state)
            self.assertEqual(got + [batch[:, 0].tolist() for batch in iterator], whole)
            for loader in (first, other):
                loader.close()

    def test_the_threads_serve_all_epochs_and_end_with_the_loader(self):
        loader = self.rows()
        for _ in range(3):
            for _ in loader:
                self.assertEqual(len(copiers()), copier.threads())
        loader.close()
        self.assertEqual(copiers(), [])
        self.assertEqual(len(list(loader)), 12)
        loader.close()
        self.assertEqual(copiers(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Tests what workers of Python datasets know of earlier epochs, and of earlier trainers: as much as torch's do."""
import multiprocessing
import os
import time
import unittest

from python_datasets import Numbers, Shaped, numpy, torch
from workers_test import WorkersTest

class FromFile(torch.utils.data.Dataset):
    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 6

    def __getitem__(self, index):
        with open(self.path) as file:
            return int(file.read())


class EpochsTest(WorkersTest):
    def test_persistent_workers_stay_and_others_see_what_changed(self):
        class Changing(Shaped):
            def __getitem__(self, index):
                return os.getpid(), self.count

        for persistent in (True, False):
            dataset = Changing(int, 8)
            dataset.__dict__["mark"] = open("/dev/null")  # nobody can compare it
            self.addCleanup(dataset.mark.close)
            loader = self.loader(dataset, batch_size=None, persistent_workers=persistent)
            first = {pid for pid, _ in loader}
            second = {pid for pid, _ in loader}
            self.assertEqual(bool(first & second), persistent)

    def test_persistent_workers_make_nothing_of_an_epoch_before_it_begins(self):
        epoch = multiprocessing.Value("i", 0)
        loader = self.loader(Shaped(lambda _: epoch.value, 20), batch_size=4, persistent_workers=True)
        got = []
        for number in range(3):
            epoch.value = number
            got += [set(batch.tolist()) for batch in loader]
            time.sleep(0.2)  # enough to make batches ahead
        self.assertEqual(got, [{0}] * 5 + [{1}] * 5 + [{2}] * 5)

    def test_each_epoch_begins_with_the_dataset_as_the_program_has_it(self):
        class Pops(torch.utils.data.Dataset):
            def __init__(self):
                self.calls = 0

            def __len__(self):
                return 4

            def __getitem__(self, index):
                self.calls += 1
                return self.calls

        loader = self.loader(Pops(), batch_size=4, num_workers=1)
        self.assertEqual([batch.tolist() for _ in range(3) for batch in loader], [[1, 2, 3, 4]] * 3)
        persistent = self.loader(Pops(), batch_size=4, num_workers=1, persistent_workers=True)
        got = [batch.tolist() for _ in range(2) for batch in persistent]
        self.assertEqual(got, [[1, 2, 3, 4], [5, 6, 7, 8]], "as torch's")

    def test_arguments_may_be_integers_of_any_type(self):
        for persistent in (0, 1, None, numpy.bool_(True)):
            loader = self.loader(Numbers(), batch_size=5, num_workers=numpy.int64(1), prefetch_factor=numpy.int64(2),
                                 persistent_workers=persistent)
            self.assertEqual(sum((batch[0].tolist() for batch in loader), []), list(range(20)))

    def test_a_file_that_was_rewritten_is_read_anew_once_nobody_is_in_the_epoch(self):
        path = os.path.join(self.folder, "content")

        def written(number):
            with open(path, "w") as file:
                file.write(str(number))
            loader = self.loader(FromFile(path), batch_size=2, num_workers=1)
            got = [batch.tolist() for batch in loader]
            loader.close()
            return got

        self.assertEqual([written(number) for number in range(3)], [[[number] * 2] * 3 for number in range(3)])

    def test_a_dataset_that_the_program_changes_between_epochs(self):
        dataset = Numbers()
        dataset.epoch = 0
        dataset.__class__ = type("Epochs", (Numbers,), {"__getitem__": lambda self, index: (index, self.epoch)})
        loader = self.loader(dataset, batch_size=20)
        got = []
        for epoch in range(3):
            dataset.epoch = epoch
            got += [set(batch[1].tolist()) for batch in loader]
        self.assertEqual(got, [{0}, {1}, {2}])


if __name__ == "__main__":
    unittest.main()

"""Tests loaders of Python datasets whose batches forked workers make, with a real daemon."""
import itertools
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings

from daemons import WorkersTest
from python_datasets import ByItems, Counting, Failing, Numbers, Shaped, Stateful, plain, support, torch

import penstock  # noqa: E402

Torch = torch.utils.data.DataLoader


class Endless:
    """A sampler whose length is not known."""

    def __init__(self, end):
        self.end = end

    def __iter__(self):
        return iter(range(self.end))


def batches(loader):
    return [plain(batch) for batch in loader]


class SameBytesTest(WorkersTest):
    MAKERS = {
        "shuffled": (Numbers, dict(batch_size=6, shuffle=True)),
        "dropping": (Numbers, dict(batch_size=6, drop_last=True)),
        "items at once": (ByItems, dict(batch_size=6)),
        "single samples": (Numbers, dict(batch_size=None)),
        "sampler": (Numbers, dict(batch_size=4, sampler=[3, 3, 1, 19, 7])),
        "batch sampler": (Numbers, dict(batch_sampler=[[1, 2], [3], [4, 5, 6]])),
        "names": (lambda: Shaped(str.upper), dict(batch_size=2, sampler=["a", "b", "c"])),
        "rank": (Numbers, dict(batch_size=3, shuffle=True, rank=1, world_size=3)),
        "windows": (Numbers, dict(batch_size=6, shuffle=penstock.ShuffleWindow(2, 3))),
        "unknown length": (lambda: Shaped(lambda i: (i, random.random()), 3000), dict(batch_size=2, sampler=Endless(3000))),
    }

    def test_whatever_the_number_of_workers(self):
        for name, (dataset, keywords) in self.MAKERS.items():
            here = self.loader(dataset(), num_workers=0, **keywords)
            expected = [batches(here), batches(here)]
            for workers, persistent in ((1, False), (3, True)):
                with self.subTest(name=name, workers=workers):
                    loader = self.loader(dataset(), num_workers=workers, persistent_workers=persistent, **keywords)
                    self.assertEqual([batches(loader), batches(loader)], expected)

    def test_a_state_goes_on_with_any_number_of_workers(self):
        for name in ("shuffled", "sampler", "batch sampler", "single samples"):
            dataset, keywords = self.MAKERS[name]
            whole = batches(self.loader(dataset(), num_workers=0, **keywords))
            for taken in range(1, len(whole), 2):
                first = self.loader(dataset(), **keywords)
                iterator = iter(first)
                for _ in range(taken):
                    next(iterator)
                state = first.state_dict()
                for other in (self.loader(dataset(), num_workers=0, **keywords), self.loader(dataset(), num_workers=1, **keywords)):
                    other.load_state_dict(state)
                    with self.subTest(name=name, taken=taken):
                        self.assertEqual(batches(other), whole[taken:])

    def test_a_loader_left_early_begins_the_next_epoch(self):
        here = self.loader(Numbers(), num_workers=0, batch_size=6, shuffle=True)
        expected = [batches(here), batches(here)][1]
        for persistent in (False, True):
            loader = self.loader(Numbers(), batch_size=6, shuffle=True, persistent_workers=persistent)
            for _ in loader:
                break
            self.assertEqual(batches(loader), expected)

    def test_a_pickled_loader_goes_on(self):
        loader = self.loader(Numbers(), batch_size=6)
        iterator = iter(loader)
        next(iterator)
        other = pickle.loads(pickle.dumps(loader))
        self.addCleanup(other.close)
        self.assertEqual(batches(other), batches(iterator))

    def test_batches_may_be_written_to_and_kept(self):
        dataset = Shaped(lambda i: torch.full((300_000,), float(i)), 12)
        kept = []
        for batch in self.loader(dataset, batch_size=2):
            batch += 1
            kept.append(batch)
        self.assertEqual([[float(row[0]), float(row[-1])] for batch in kept for row in batch], [[i + 1.0] * 2 for i in range(12)])


class IterableTest(WorkersTest):
    def test_the_order_is_torchs(self):
        for count, workers in ((20, 2), (7, 3), (2, 3), (0, 2)):
            for keywords in ({"batch_size": 3}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}):
                expected = [plain(batch[0]) for batch in Torch(Counting(count), num_workers=workers, **keywords)]
                for persistent in (False, True):
                    loader = self.loader(Counting(count), num_workers=workers, persistent_workers=persistent, **keywords)
                    with self.subTest(count=count, workers=workers, **keywords):
                        self.assertEqual([plain(batch[0]) for batch in loader], expected)
                        self.assertEqual([plain(batch[0]) for batch in loader], expected)

    def test_one_worker_gives_what_this_process_gives(self):
        expected = self.loader(Counting(), num_workers=0, batch_size=3)
        self.assertEqual(*([batches(loader), batches(loader)] for loader in
                           (expected, self.loader(Counting(), num_workers=1, batch_size=3))))

    def test_a_stateful_one_resumes(self):
        whole = batches(self.loader(Stateful(), batch_size=3))
        for taken in range(1, len(whole)):
            first = self.loader(Stateful(), batch_size=3)
            iterator = iter(first)
            for _ in range(taken):
                next(iterator)
            state = first.state_dict()
            other = self.loader(Stateful(), batch_size=3)
            other.load_state_dict(state)
            with self.subTest(taken=taken):
                self.assertEqual(batches(other), whole[taken:])
        with self.assertRaisesRegex(penstock.FailedPrecondition, "num_workers=2"):
            self.loader(Stateful(), num_workers=3, batch_size=3).load_state_dict(state)


    def test_the_state_of_the_last_batch_is_the_next_epochs_beginning(self):
        for workers in (0, 2):
            loader = self.loader(Stateful(), num_workers=workers, batch_size=3)
            count = len(batches(self.loader(Stateful(), num_workers=workers, batch_size=3)))
            for _ in itertools.islice(loader, count):
                state = loader.state_dict()
            self.assertEqual((state["epoch"], state["consumed"]), (1, 0))


class InsideTest(WorkersTest):
    """What the program's code sees in a worker."""

    def seen(self, make, **keywords):
        return list(self.loader(Shaped(make, 8), batch_size=None, **keywords))

    def test_worker_info(self):
        def make(_):
            info = torch.utils.data.get_worker_info()
            return info.id, info.num_workers, type(info.dataset).__name__, torch.get_num_threads()

        for place, count, name, threads in self.seen(make, num_workers=3):
            self.assertIn(place, range(3))
            self.assertEqual((count, name, threads), (3, "Shaped", 1))

    def test_worker_init_fn(self):
        def prepare(place):
            os.environ["PREPARED"] = str(place)

        for place, prepared in self.seen(lambda _: (torch.utils.data.get_worker_info().id, os.environ.get("PREPARED")),
                                         worker_init_fn=prepare):
            self.assertEqual(str(place), prepared)

    def test_worker_init_fn_that_raises(self):
        def prepare(place):
            raise KeyError("not today")

        with self.assertRaisesRegex(KeyError, "(?s)Caught KeyError in DataLoader worker process [01], in worker_init_fn.*not today"):
            self.seen(int, worker_init_fn=prepare)

    def test_cuda_is_refused_in_words(self):
        with self.assertRaisesRegex(RuntimeError, "a Python worker tried to use CUDA"):
            self.seen(lambda _: torch.cuda._lazy_init())

    def test_it_may_start_processes_and_threads_and_print(self):
        import threading

        def make(index):
            threading.Thread(target=lambda: None).start()
            print(f"sample {index}")
            return subprocess.run([sys.executable, "-c", "print(5)"], capture_output=True, text=True).stdout

        self.assertEqual(self.seen(make), ["5\n"] * 8)

    def test_what_it_prints_comes_once(self):
        said = support.script(
            "import torch\nfrom penstock.torch import DataLoader\n"
            "class D(torch.utils.data.Dataset):\n"
            "    def __len__(self): return 4\n"
            "    def __getitem__(self, i): print('made', i); return i\n"
            "print('before', end=' ')\nlist(DataLoader(D(), num_workers=2))\n",
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"})
        self.assertEqual(sorted(said.split()), sorted("before made 0 made 1 made 2 made 3".split()))


class ErrorTest(WorkersTest):
    def test_an_exception_has_its_type_the_workers_traceback_and_the_sample(self):
        for error in (ValueError, KeyError, FileNotFoundError, penstock.NotFound):
            iterator = iter(self.loader(Failing([4], error), batch_size=3))
            self.assertEqual(next(iterator).tolist(), [0, 1, 2])
            with self.assertRaisesRegex(error, r"(?s)Caught \w+ in DataLoader worker process \d, in dataset\[4\].*Original Traceback"
                                               r".*__getitem__.*sample 4 is bad"):
                next(iterator)
            self.assertEqual(next(iterator).tolist(), [6, 7, 8])

    def test_in_collate_fn(self):
        def collate(rows):
            raise TypeError("nothing fits")

        with self.assertRaisesRegex(TypeError, r"(?s)in collate_fn for samples \[0, 1, 2\].*nothing fits"):
            list(self.loader(Numbers(), batch_size=3, collate_fn=collate))

    def test_exceptions_that_cannot_travel(self):
        class Odd(Exception):
            def __init__(self, one, two):
                super().__init__(one, two)

        def fail(_):
            raise Odd(1, 2)

        with self.assertRaisesRegex(Exception, "(?s)Caught Odd in DataLoader worker.*Original Traceback"):
            list(self.loader(Shaped(fail)))

    def test_what_cannot_be_sent_is_named(self):
        with self.assertRaisesRegex(ValueError, r"batch\[0\]\['lock'\]"):
            list(self.loader(Shaped(lambda _: {"lock": open("/dev/null")}), collate_fn=list))

    def test_a_batch_beyond_its_limit(self):
        dataset = Shaped(lambda i: torch.zeros(1 << 20) if i == 2 else torch.zeros(4), 4)
        iterator = iter(self.loader(dataset, max_batch_bytes=1 << 20))
        next(iterator), next(iterator)
        with self.assertRaisesRegex(penstock.ResourceExhausted, "max_batch_bytes"):
            next(iterator)
        self.assertEqual(next(iterator).shape, (1, 4))

    def test_replace(self):
        for keywords in ({"shuffle": True}, {"sampler": [1, 4, 6, 9, 3]}, {"sampler": [1, 4, 6, 9, 3], "persistent_workers": True}):
            with self.subTest(**keywords):
                loader = self.loader(Failing([4, 6]), batch_size=5, on_error="replace", **keywords)
                keywords.pop("persistent_workers", None)
                here = self.loader(Failing([4, 6]), num_workers=0, batch_size=5, on_error="replace", **keywords)
                for _ in range(2):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        expected = batches(here)
                        self.assertEqual(batches(loader), expected)
                self.assertEqual([each for row in expected for each in row[3] if each in (4, 6)], [])


class ProcessesTest(WorkersTest):
    def test_a_killed_workers_batch_is_made_again(self):
        folder = tempfile.mkdtemp(dir=self.folder)

        def make(index):
            if index == 5 and not os.path.exists(f"{folder}/died"):
                open(f"{folder}/died", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return index, random.random()

        expected = batches(self.loader(Shaped(lambda i: (i, random.random()), 12), num_workers=0, batch_size=3))
        self.assertEqual(batches(self.loader(Shaped(make, 12), batch_size=3)), expected)

    def test_a_killed_host_is_replaced(self):
        def make(index):
            time.sleep(0.02)
            return index, random.random(), os.getppid()

        loader = self.loader(Shaped(make, 40), batch_size=2)
        expected = [batch[:2] for batch in self.loader(Shaped(make, 40), num_workers=0, batch_size=2)]
        got = []
        for batch in loader:
            got.append(batch[:2])
            if len(got) == 5:
                os.kill(int(batch[2][0]), signal.SIGKILL)
        self.assertEqual(plain(got), plain(expected))

    def test_a_sample_over_which_workers_die_fails_in_words(self):
        for end, words in ((lambda: os._exit(3), "exit code 3"), (lambda: os.kill(os.getpid(), signal.SIGSEGV), "signal 11.*File")):
            loader = self.loader(Shaped(lambda i: end() if i == 5 else i, 8), batch_size=2)
            with self.assertRaisesRegex(penstock.DataLoss, f"(?s)sample 5: 2 worker processes died over it.*{words}"):
                list(loader)

    def test_a_sample_that_hangs_is_a_timeout(self):
        loader = self.loader(Shaped(lambda i: time.sleep(60) if i == 5 else i, 8), batch_size=2, timeout=1)
        with self.assertRaises(TimeoutError):
            list(loader)

    def test_nothing_is_left_when_it_is_closed(self):
        loader = self.loader(Shaped(lambda _: (os.getpid(), os.getppid())), batch_size=None)
        pids = set(itertools.chain.from_iterable(loader))
        loader.close()
        support.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") and "Z" not in _state(pid) for pid in pids), "the end")

    def sessions(self):
        listing = subprocess.run([support.program("penstockctl"), "--address", self.daemon.address, "-o", "json",
                                  "sessions"], stdout=subprocess.PIPE, check=True)
        return json.loads(listing.stdout).get("sessions", [])

    def test_trainers_with_one_dataset_share_what_is_made(self):
        counted, go = tempfile.mkdtemp(dir=self.folder), os.path.join(self.folder, "go")
        text = ("import os, sys, time, torch\nfrom penstock.torch import DataLoader\n"
                "class D(torch.utils.data.Dataset):\n"
                "    def __len__(self): return 64\n"
                "    def __getitem__(self, i):\n"
                f"        while not os.path.exists('{go}'): time.sleep(0.01)\n"
                f"        with open('{counted}/' + str(i), 'a') as file: file.write('x')\n"
                "        return i\n"
                "loader = DataLoader(D(), batch_size=4, shuffle=True, num_workers=2, timeout=60)\n"
                "got = []\n"
                "for batch in loader: got.append(batch.tolist()); time.sleep(0.05)\n"
                "print(got, flush=True); sys.stdin.readline()\n")
        trainers = [subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    for _ in range(2)]
        support.wait_until(lambda: len(self.sessions()) == 2, "two sessions")
        open(go, "w").close()
        said = [trainer.stdout.readline() for trainer in trainers]
        for trainer in trainers:
            trainer.communicate("\n")
        self.assertEqual(said[0], said[1])
        self.assertEqual({os.path.getsize(f"{counted}/{i}") for i in range(64)}, {1})

    def test_after_the_daemons_end_it_goes_on_with_the_same_batch(self):
        expected = batches(self.loader(Numbers(), num_workers=0, batch_size=2, shuffle=True))
        loader = self.loader(Numbers(), batch_size=2, shuffle=True)
        got = []
        for batch in loader:
            got.append(plain(batch))
            if len(got) == 3:
                self.daemon.kill()
                self.daemon.start()
        self.assertEqual(got, expected)


def _state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


if __name__ == "__main__":
    support.main()

"""Tests a loader's position: states, ranks, custom samplers, and a daemon that dies."""
import pickle
import threading
import time

import support

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
from loader_fixture import CROP, LoaderFixture, ids  # noqa: E402


class StateTest(LoaderFixture):
    # States

    def test_it_resumes_in_the_middle_of_an_epoch(self):
        whole = ids(self.loader(batch_size=10, shuffle=True, seed=5))
        loader = self.loader(batch_size=10, shuffle=True, seed=5)
        iterator = iter(loader)
        begun = ids([next(iterator) for _ in range(3)])
        state = pickle.loads(pickle.dumps(loader.state_dict()))

        resumed = self.loader(batch_size=7, shuffle=True, seed=5)
        resumed.load_state_dict(state)
        resumed.set_epoch(state["epoch"])  # training loops do this; it must not move the loader back

        self.assertEqual(begun + ids(resumed), whole)
        self.assertEqual(resumed.epoch, 1)

    def test_a_state_at_an_epochs_end_is_the_next_ones_start(self):
        loader = self.loader(batch_size=10, shuffle=True)
        for batch in loader:
            state = loader.state_dict()

        self.assertEqual((state["epoch"], state["consumed"]), (1, 0))

    def test_a_state_loaded_into_a_live_iterator_holds_at_its_next_batch(self):
        loader = self.loader(batch_size=10, shuffle=True)
        iterator = iter(loader)
        state = None
        for _ in range(2):
            next(iterator)
            state = state or loader.state_dict()

        loader.load_state_dict(state)

        self.assertEqual(next(iterator).position.first, 10)

    def test_a_state_of_another_feed_is_refused_in_words(self):
        loader = self.loader(batch_size=10, shuffle=True)
        next(iter(loader))
        other = self.loader(batch_size=10, shuffle=True, transform=[penstock.RandomResizedCrop(64)])

        other.load_state_dict(loader.state_dict())

        with self.assertRaisesRegex(penstock.Error, "fingerprint"):
            next(iter(other))

    def test_states_that_cannot_be_are_refused(self):
        good = self.loader().state_dict()
        for change in ({"version": 2}, {"epoch": "one"}, {"consumed": -1}):
            with self.subTest(change=change), self.assertRaises(penstock.InvalidArgument):
                self.loader().load_state_dict({**good, **change})
        for state in (None, 7, list(good)):
            with self.assertRaisesRegex(penstock.InvalidArgument, "not a dict; give what state_dict"):
                self.loader().load_state_dict(state)
        with self.assertRaisesRegex(penstock.InvalidArgument, "lacks seed"):
            self.loader().load_state_dict({key: value for key, value in good.items() if key != "seed"})

    # Ranks

    def test_ranks_share_an_epoch(self):
        for last_batch, each in (("drop", 3), ("pad_ranks", 4), ("pad_batch", 4), ("partial", None)):
            with self.subTest(last_batch=last_batch):
                loaders = [self.loader(batch_size=16, shuffle=True, rank=rank, world_size=2, last_batch=last_batch)
                           for rank in range(2)]
                taken = [list(loader) for loader in loaders]
                real = [int(sample) for batches in taken for batch in batches
                        for sample in batch.sample_ids[:batch.valid_rows]]

                self.assertEqual([len(batches) for batches in taken], [len(loader) for loader in loaders])
                self.assertEqual(len(set(real)), len(real))
                self.assertEqual(len(real), 96 if last_batch == "drop" else 100)
                if each is not None:
                    self.assertEqual([len(batches) for batches in taken], [each, each])

    def test_after_as_many_steps_the_state_is_the_same_on_every_rank(self):
        for last_batch in ("drop", "pad_batch", "pad_ranks", "partial"):
            with self.subTest(last_batch=last_batch):
                loaders = [self.loader(batch_size=16, shuffle=True, rank=rank, world_size=2, last_batch=last_batch)
                           for rank in range(2)]
                for _ in range(2):  # epochs
                    iterators = [iter(loader) for loader in loaders]
                    for _ in range(max(len(loader) for loader in loaders)):
                        for iterator in iterators:
                            next(iterator, None)
                        self.assertEqual(loaders[0].state_dict(), loaders[1].state_dict())

    def test_a_rank_that_ends_earlier_goes_on_with_the_next_epoch_without_a_look_at_its_end(self):
        loaders = [self.loader(batch_size=16, rank=rank, world_size=2, last_batch="partial") for rank in range(2)]
        for between in (lambda loader: None, lambda loader: loader.close()):
            for loader in loaders:
                iterator = iter(loader)
                for _ in range(len(loader)):
                    next(iterator)
                between(loader)
        for rank, loader in enumerate(loaders):
            self.assertEqual(next(iter(loader)).position[:3], (2, 0, 16 * rank))

    def test_a_rank_without_a_batch_has_an_empty_epoch(self):
        loader = self.loader(batch_size=100, rank=1, world_size=2, last_batch="partial")

        self.assertEqual(len(loader), 0)
        self.assertEqual(list(loader), [])
        self.assertEqual(list(loader), [])
        self.assertEqual(loader.epoch, 2)

    def test_two_ranks_are_resumed_as_one_and_as_four(self):
        whole = ids(self.loader(batch_size=5, shuffle=True))
        pair = [self.loader(batch_size=5, shuffle=True, rank=rank, world_size=2) for rank in range(2)]
        iterators = [iter(loader) for loader in pair]
        begun = [ids([next(iterator)]) for _ in range(3) for iterator in iterators]
        state = pair[0].state_dict()
        for world_size in (1, 4):
            with self.subTest(world_size=world_size):
                rest = []
                for rank in range(world_size):
                    loader = self.loader(batch_size=5, shuffle=True, rank=rank, world_size=world_size,
                                         last_batch="partial")
                    loader.load_state_dict(state)
                    rest += ids(loader)

                self.assertEqual(sorted(sum(begun, []) + rest), sorted(whole))

    # Custom samplers

    def test_a_sampler_says_which_samples_come_and_in_which_order(self):
        generator = torch.Generator()
        generator.manual_seed(1)
        sampler = torch.utils.data.RandomSampler(range(100), generator=generator)
        generator.manual_seed(1)
        expected = [list(sampler), list(sampler)]
        generator.manual_seed(1)
        loader = self.loader(batch_size=32, sampler=sampler)

        got = [ids(loader), ids(loader)]

        self.assertEqual(got, expected)
        self.assertEqual(len(loader), 4)
        self.assertIs(loader.sampler, sampler)

    def test_samples_may_come_more_than_once_or_never(self):
        for order in ([7, 7, 7, 99, 0], [3], []):
            with self.subTest(order=order):
                loader = self.loader(batch_size=2, sampler=order)

                self.assertEqual(ids(loader), order)
                self.assertEqual(loader.epoch, 1)

    def test_a_distributed_sampler_keeps_its_meaning(self):
        samplers = [torch.utils.data.distributed.DistributedSampler(range(100), num_replicas=3, rank=rank, seed=2)
                    for rank in range(3)]
        for epoch in range(2):
            for sampler in samplers:
                sampler.set_epoch(epoch)
                loader = self.loader(batch_size=8, sampler=sampler)

                self.assertEqual(ids(loader), list(sampler))

    def test_a_batch_sampler_says_the_batches(self):
        batches = [[5, 3, 1], [2, 4, 6], [8, 7]]
        loader = self.loader(batch_sampler=batches)

        got = [batch.sample_ids.tolist() for batch in loader]

        self.assertEqual(got, batches)
        self.assertEqual(len(loader), 3)

    def test_a_sampled_epoch_is_resumed(self):
        order = torch.randperm(100).tolist()
        loader = self.loader(batch_size=10, sampler=order)
        iterator = iter(loader)
        begun = ids([next(iterator) for _ in range(4)])
        resumed = self.loader(batch_size=20, sampler=order)

        resumed.load_state_dict(loader.state_dict())

        self.assertEqual(begun + ids(resumed), order)

    def test_samplers_that_cannot_be_are_refused(self):
        for words, keywords in (("exclude", {"sampler": [1], "shuffle": True}),
                                ("excludes", {"batch_sampler": [[1]], "batch_size": 2}),
                                ("one size", {"batch_sampler": [[1, 2], [3], [4, 5]]}),
                                ("not an integer", {"sampler": ["a"]}),
                                ("not an integer", {"sampler": [-1]}),
                                ("100", {"sampler": [100]})):
            with self.subTest(words=words), self.assertRaisesRegex(ValueError, words):
                list(self.loader(**keywords))


class ThreadsTest(LoaderFixture):
    """Several threads on one iterator: each batch comes once, and a thread that comes meanwhile is told."""

    def loaders(self):
        sampler = penstock.WeightedSampler([1] * 100, 100)
        for make in (penstock.torch.DataLoader, penstock.Loader):
            for keywords in ({"shuffle": True}, {"sampler": sampler}):
                loader = make(self.photographs, batch_size=8, transform=CROP, **keywords)
                self.addCleanup(loader.close)
                yield loader

    def read_by_threads(self, loader):
        """Batches' places in the epoch, refusals, and the state when it was read to its end by four threads."""
        iterator, steps, refused, failed = iter(loader), [], [], []

        def read():
            while True:
                try:
                    steps.append(next(iterator).position[:2])
                except StopIteration:
                    return
                except penstock.FailedPrecondition as error:
                    refused.append(str(error))
                    time.sleep(0.0005)
                except Exception as error:
                    failed.append(error)
                    return

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(60)
        self.assertEqual(failed, [])
        return steps, refused

    def test_threads_on_one_iterator_get_each_batch_once_or_an_error(self):
        for loader in self.loaders():
            for epoch in range(2):
                with self.subTest(loader=loader, epoch=epoch):
                    steps, refused = self.read_by_threads(loader)

                    self.assertEqual(sorted(steps), [(epoch, step) for step in range(13)])
                    self.assertEqual(loader.state_dict()["epoch"], epoch + 1)
                    for words in refused:
                        self.assertIn("another thread is taking a batch", words)

    def test_a_thread_that_comes_while_another_one_opens_is_told(self):
        for loader in self.loaders():
            with self.subTest(loader=loader):
                len(loader)
                self.daemon.freeze()
                iterator, taken = iter(loader), []
                first = threading.Thread(target=lambda: taken.append(next(iterator)))
                first.start()
                time.sleep(0.3)
                try:
                    for move in (lambda: next(iterator), lambda: iter(loader), loader.close, lambda: loader.set_epoch(3),
                                 lambda: loader.load_state_dict(loader.state_dict())):
                        with self.assertRaisesRegex(penstock.FailedPrecondition, "another thread is taking a batch"):
                            move()
                finally:
                    self.daemon.thaw()
                    first.join(60)

                self.assertEqual([batch.position[:2] for batch in taken], [(0, 0)])
                self.assertEqual(next(iterator).position[:2], (0, 1))


class DaemonDeathTest(support.FeedTest):
    def test_it_goes_on_at_the_same_batch_when_the_daemon_is_back(self):
        undisturbed = penstock.torch.DataLoader(self.photographs, batch_size=10, shuffle=True, transform=CROP)
        expected = [batch["image"] for batch in undisturbed]
        undisturbed.close()
        loader = penstock.torch.DataLoader(self.photographs, batch_size=10, shuffle=True, transform=CROP)
        self.addCleanup(loader.close)
        got = []

        for batch in loader:
            got.append(batch["image"])
            if len(got) == 4:
                self.daemon.kill()
                self.daemon.start()

        self.assertEqual(len(got), len(expected))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(got, expected)))

    def test_other_threads_may_ask_how_it_is_while_it_connects_again(self):
        loader = penstock.torch.DataLoader(self.photographs, batch_size=4, shuffle=True, transform=CROP)
        self.addCleanup(loader.close)
        done, failed = threading.Event(), []

        def ask():
            while not done.is_set() and not failed:
                try:
                    self.assertRegex(loader.stats().get("verdict", "no session"), r"^[ -~]+$")
                    self.assertLessEqual(loader.state_dict()["consumed"], 100)
                    repr(loader)
                except Exception as error:
                    failed.append(error)

        askers = [threading.Thread(target=ask) for _ in range(3)]
        next(iter(loader))
        for asker in askers:
            asker.start()
        for _ in range(4):
            for place, _ in enumerate(loader):
                if place == 12:
                    self.daemon.freeze()  # so that the threads are waiting for its answer when it dies
                    time.sleep(0.02)
                    self.daemon.kill()
                    self.daemon.start()
        done.set()
        for asker in askers:
            asker.join()

        self.assertEqual(failed, [])

    def test_it_says_so_when_the_daemon_stays_away(self):
        loader = penstock.torch.DataLoader(self.photographs, batch_size=10, transform=CROP, reconnect=1)
        iterator = iter(loader)
        next(iterator)
        self.daemon.kill()

        with self.assertRaises(ConnectionError):
            for _ in iterator:
                pass

        self.daemon.start()


if __name__ == "__main__":
    support.main()

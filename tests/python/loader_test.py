"""Tests that penstock.torch.DataLoader keeps the conventions of torch.utils.data.DataLoader."""
import mmap
import os
import pickle
import re

import support

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
from loader_fixture import CROP, MIDDLE, LoaderFixture, ids  # noqa: E402

class LoaderTest(LoaderFixture):
    # Batches

    def test_defaults_are_torchs(self):
        loader = self.loader(dataset=self.photographs)

        batches = list(loader)

        self.assertEqual(len(batches), 100)  # batch_size=1
        self.assertEqual(ids(batches), list(range(100)))  # shuffle=False
        self.assertEqual(batches[0]["image"].shape, (1, 3, 32, 32))
        self.assertEqual(batches[0]["image"].dtype, torch.float32)
        self.assertEqual(batches[0]["label"].dtype, torch.int64)
        self.assertGreaterEqual(float(batches[0]["image"].min()), 0)
        self.assertLessEqual(float(batches[0]["image"].max()), 1)

    def test_the_last_batch_is_short_unless_dropped(self):
        for drop_last, sizes in ((False, [32, 32, 32, 4]), (True, [32, 32, 32])):
            with self.subTest(drop_last=drop_last):
                loader = self.loader(batch_size=32, drop_last=drop_last)

                got = [len(batch["label"]) for batch in loader]

                self.assertEqual(got, sizes)
                self.assertEqual(len(loader), len(sizes))

    def test_types_and_layouts(self):
        stored = next(iter(self.loader(batch_size=4, dtype="uint8", layout="NHWC")))["image"]
        for dtype in (torch.uint8, torch.float32, torch.float16, torch.bfloat16):
            for layout in ("NHWC", "NCHW"):
                with self.subTest(dtype=dtype, layout=layout):
                    image = next(iter(self.loader(batch_size=4, dtype=dtype, layout=layout)))["image"]

                    expected = stored if layout == "NHWC" else stored.permute(0, 3, 1, 2)
                    if dtype != torch.uint8:
                        expected = (expected.float() / 255).to(dtype)
                    self.assertEqual(image.dtype, dtype)
                    self.assertTrue(torch.equal(image, expected))

    def test_tensors_stay_as_they_are_while_batches_go_on(self):
        loader = self.loader(batch_size=10, shuffle=True)

        kept = list(loader)
        copies = [batch["image"].clone() for batch in kept]
        for _ in range(2):
            list(loader)

        for batch, image in zip(kept, copies):
            self.assertTrue(torch.equal(batch["image"], image))

    def test_a_collate_function_gets_the_finished_batch(self):
        loader = self.loader(batch_size=50, collate_fn=lambda batch: (batch["image"], batch["label"]))

        pairs = list(loader)

        self.assertEqual([len(label) for _, label in pairs], [50, 50])

    def test_a_batch_can_be_rebuilt_by_frameworks_that_move_it(self):
        batch = next(iter(self.loader(batch_size=4)))

        moved = type(batch)({key: value.double() for key, value in batch.items()})

        self.assertEqual(moved["image"].dtype, torch.float64)

    # Epochs

    def test_epochs_advance_by_themselves_and_differ_when_shuffled(self):
        loader = self.loader(batch_size=20, shuffle=True)

        first, second = ids(loader), ids(loader)

        self.assertNotEqual(first, second)
        self.assertEqual(sorted(first), list(range(100)))
        self.assertEqual(sorted(second), list(range(100)))
        self.assertEqual(loader.epoch, 2)

    def test_set_epoch_repeats_an_epoch(self):
        loader = self.loader(batch_size=20, shuffle=True)
        first = ids(loader)

        loader.set_epoch(0)
        again = ids(loader)
        loader.sampler.set_epoch(1)
        second = ids(loader)

        self.assertEqual(again, first)
        self.assertNotEqual(second, first)

    def test_a_loop_that_was_left_begins_the_next_epoch(self):
        loader = self.loader(batch_size=20, shuffle=True)
        for batch in loader:
            break

        rest = list(loader)

        self.assertEqual({batch.position.epoch for batch in rest}, {1})
        self.assertEqual(len(rest), 5)

    def test_seeds_decide_the_order(self):
        same = [ids(self.loader(batch_size=20, shuffle=True, seed=seed)) for seed in (3, 3, 4)]
        generator = torch.Generator()
        generator.manual_seed(3)

        drawn = ids(self.loader(batch_size=20, shuffle=True, generator=generator))

        self.assertEqual(same[0], same[1])
        self.assertNotEqual(same[0], same[2])
        self.assertEqual(sorted(drawn), list(range(100)))

    def test_a_newer_iterator_ends_the_older(self):
        loader = self.loader(batch_size=20)
        older = iter(loader)
        next(older)
        newer = iter(loader)

        with self.assertRaisesRegex(penstock.Error, "newer iterator"):
            next(older)

        self.assertEqual(len(list(newer)), 5)

    def test_an_end_that_was_not_waited_for_is_no_empty_epoch(self):
        loader = self.loader(batch_size=50, shuffle=True)
        first = [batch for _, batch in zip(range(2), loader)]  # zip does not ask for the end
        loader.load_state_dict(loader.state_dict())
        second = [batch for _, batch in zip(range(2), loader)]
        third = list(loader)

        epochs = [[batch.position.epoch for batch in batches] for batches in (first, second, third)]
        self.assertEqual(epochs, [[0, 0], [1, 1], [2, 2]])

    def test_an_exhausted_iterator_stays_so(self):
        iterator = iter(self.loader(batch_size=100))
        next(iterator)

        for _ in range(3):
            with self.assertRaises(StopIteration):
                next(iterator)

    # The dataset

    def test_the_dataset_tells_its_length_and_classes(self):
        loader = self.loader(batch_size=10)

        self.assertEqual(len(loader.dataset), 100)
        self.assertEqual(loader.dataset.classes, sorted(os.listdir(self.photographs)))
        self.assertEqual(loader.dataset.class_to_idx[loader.dataset.classes[3]], 3)

    def test_the_dataset_tells_where_a_sample_lies(self):
        loader = self.loader(batch_size=10)

        path = loader.dataset.path(37)

        self.assertTrue(os.path.isfile(path), path)
        self.assertEqual(os.path.basename(os.path.dirname(path)), loader.dataset.classes[3])
        with self.assertRaisesRegex(penstock.InvalidArgument, "100"):
            loader.dataset.path(100)

    def test_stats_say_who_waits_for_whom(self):
        loader = self.loader(batch_size=10)
        self.assertEqual(loader.stats(), {})

        list(loader)

        stats = loader.stats()
        self.assertEqual(stats["batches"], 10)
        self.assertGreater(stats["waited_seconds"] + stats["busy_seconds"], 0)
        self.assertEqual(loader._session.waited_seconds, stats["waited_seconds"])
        self.assertTrue(stats["daemon_answered"])
        self.assertRegex(stats["verdict"], "holds up|sets the pace")

    def test_labels_are_the_classes_of_the_files(self):
        labels = [int(label) for batch in self.loader(batch_size=10) for label in batch["label"]]

        files = [len(os.listdir(os.path.join(self.photographs, name))) for name in sorted(os.listdir(self.photographs))]
        self.assertEqual(labels, [index for index, count in enumerate(files) for _ in range(count)])

    def test_validation_sees_every_sample_once(self):
        loader = self.loader(batch_size=32, transform=MIDDLE)

        self.assertEqual(ids(loader), list(range(100)))

    # Refusals

    def test_bad_arguments_are_refused_in_words(self):
        for words, keywords in (
                ("batch_size is 0", {"batch_size": 0}),
                ("batch_size is 1.5", {"batch_size": 1.5}),
                ("dtype is 'float64'", {"dtype": "float64"}),
                ("layout is 'CHW'", {"layout": "CHW"}),
                ("worker_init_fn", {"worker_init_fn": print}),
                ("batch_size is None", {"batch_size": None}),
                ("'pad_batch'", {"last_batch": "pad"}),
                ("multiprocessing_context", {"multiprocessing_context": "spawn"}),
                ("seed and generator", {"seed": 1, "generator": torch.Generator()}),
                ("the seed is -1", {"seed": -1}),
                ("rank 2 of 2", {"rank": 2, "world_size": 2}),
                ("give both", {"rank": 0}),
                ("contradict", {"drop_last": True, "last_batch": "pad_batch"}),
                ("last_batch is 'fill'", {"last_batch": "fill"}),
                ("timeout is -1", {"timeout": -1}),
                ("prefetch_factor is 0", {"prefetch_factor": 0}),
                ("CenterCrop", {"transform": [penstock.Resize(32)]}),
                ("the order is", {"transform": [penstock.Normalize("imagenet"), penstock.RandomResizedCrop(32)]}),
                ("does not know", {"transform": [object()]}),
                ("'uint8'", {"transform": CROP + [penstock.Normalize("imagenet")], "dtype": "uint8"}),
                ("TypeError", {"dataset": object()}),
        ):
            with self.subTest(words=words):
                with self.assertRaises(ValueError) as caught:
                    self.loader(**keywords)
                self.assertRegex(str(caught.exception), words.replace("TypeError", "with __getitem__"))

    def test_transforms_that_cannot_be_are_refused(self):
        for make in (lambda: penstock.RandomResizedCrop(0), lambda: penstock.RandomResizedCrop(scale=(0, 1)),
                     lambda: penstock.RandomResizedCrop(scale=(0.5, 2)), lambda: penstock.HorizontalFlip(2),
                     lambda: penstock.Normalize("cifar"), lambda: penstock.Normalize([0, 0], [1, 1]),
                     lambda: penstock.Normalize([0, 0, 0], [1, 0, 1]), lambda: penstock.Resize((3, 4, 5)),
                     lambda: penstock.CenterCrop((1, 2, 3))):
            with self.assertRaises(penstock.InvalidArgument):
                make()

    def test_photographs_without_a_crop_are_refused_in_words(self):
        for transform in (None, [penstock.HorizontalFlip()]):
            with self.assertRaisesRegex(penstock.InvalidArgument, "different sizes"):
                list(self.loader(transform=transform))

    def test_synthetic_rows_are_fed_as_others(self):
        batches = list(self.loader(dataset="synthetic:16x8x3,samples=50,classes=7", batch_size=20, transform=None))
        again = list(self.loader(dataset="synthetic:16x8x3,samples=50,classes=7", batch_size=20, transform=None))

        self.assertEqual([tuple(batch["image"].shape) for batch in batches], [(20, 3, 16, 8)] * 2 + [(10, 3, 16, 8)])
        self.assertTrue(all(torch.equal(a["image"], b["image"]) for a, b in zip(batches, again)))
        self.assertLess(int(max(batch["label"].max() for batch in batches)), 7)
        self.assertGreater(float(batches[0]["image"].std()), 0.2)

    def test_an_order_for_synthetic_rows_is_refused_because_it_would_change_nothing(self):
        for keywords in ({"shuffle": True}, {"sampler": [3, 1, 2]}):
            with self.subTest(keywords), self.assertRaisesRegex(penstock.InvalidArgument, "order of their numbers"):
                list(self.loader(dataset="synthetic:16x8x3,samples=50", batch_size=20, transform=None, **keywords))

    def test_a_dataset_that_is_not_there_is_not_found(self):
        with self.assertRaisesRegex(LookupError, "/nowhere"):
            list(self.loader(dataset="/nowhere/at/all"))

    def test_arguments_without_effect_are_explained_in_one_line(self):
        with self.assertLogs("penstock", "INFO") as logs:
            self.loader(num_workers=8, persistent_workers=True)

        self.assertEqual(len(logs.output), 2)
        self.assertIn("num_workers=8", logs.output[0])

    def test_what_is_said_of_pinned_memory_is_true_on_the_cpu(self):
        with self.assertLogs("penstock", "INFO") as logs:
            loader = self.loader(pin_memory=True, device="cpu")
        self.assertRegex(logs.output[0], "pin_memory=True has no effect: .*on the CPU they stay in ordinary memory")
        self.assertFalse(next(iter(loader))["image"].is_pinned())

    def test_nothing_in_time_is_a_timeout(self):
        self.addCleanup(self.daemon.thaw)
        iterator = iter(self.loader(batch_size=1, timeout=0.3))
        next(iterator)
        self.daemon.freeze()

        with self.assertRaises(TimeoutError):
            for _ in iterator:
                pass

    # Closing

    def test_closing_ends_iterators_and_iterating_opens_again(self):
        with self.loader(batch_size=50) as loader:
            iterator = iter(loader)
            batch = next(iterator)
        image = batch["image"].clone()

        with self.assertRaisesRegex(penstock.Error, "closed"):
            next(iterator)
        self.assertTrue(torch.equal(batch["image"], image))
        self.assertEqual(len(list(loader)), 2)

    def test_an_exception_in_the_loop_leaves_the_loader_usable(self):
        loader = self.loader(batch_size=10, shuffle=True)
        with self.assertRaises(ZeroDivisionError):
            for _ in loader:
                raise ZeroDivisionError

        self.assertEqual(len(list(loader)), 10)

    def test_it_can_be_pickled(self):
        loader = self.loader(batch_size=10, shuffle=True)
        next(iter(loader))

        other = pickle.loads(pickle.dumps(loader))
        self.addCleanup(other.close)

        self.assertEqual(next(iter(other)).position.first, 10)

    def test_large_batches_lie_on_huge_pages(self):
        if not this_machine_gives_huge_pages():
            self.skipTest("this machine gives no transparent huge pages to who asks for them")
        loader = self.loader(batch_size=50, transform=[penstock.RandomResizedCrop(224)])

        batch = next(iter(loader))

        self.assertGreater(huge_bytes_at(batch["image"].data_ptr() + 2**23), 0)


def this_machine_gives_huge_pages():
    with mmap.mmap(-1, 2**25, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory.write(bytes(2**25))
        view = torch.frombuffer(memory, dtype=torch.uint8)
        address = view.data_ptr()
        del view
        return huge_bytes_at(address + 2**23) > 0


def huge_bytes_at(address):
    """Returns the size of huge pages in the mapping that contains the address."""
    inside = False
    with open("/proc/self/smaps", encoding="ascii") as file:
        for line in file:
            if bounds := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
            elif inside and line.startswith("AnonHugePages:"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    support.main()

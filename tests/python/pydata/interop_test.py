"""Tests loaders of Python datasets in the frameworks that take torch's DataLoader, with their real libraries."""
import importlib
import unittest

from python_datasets import Shaped, plain, support, torch
from workers_test import WorkersTest, batches

FRAMEWORKS = {}
for each in ("lightning", "accelerate", "transformers", "ignite.engine", "ignite.engine.deterministic", "torchdata.stateful_dataloader",
             "torch.distributed.checkpoint.stateful"):
    try:
        FRAMEWORKS[each] = importlib.import_module(each)
    except ImportError as missing:
        print(f"SKIPPED: interop_test: {each} cannot be imported ({missing})")

Torch = torch.utils.data.DataLoader


def framework(name):
    if name not in FRAMEWORKS:
        raise unittest.SkipTest(f"{name} is not installed")
    return FRAMEWORKS[name]


def rows(count=40):
    return Shaped(lambda i: (torch.full((4,), float(i)), i % 2, i), count)


def numbers(batch_lists):
    return [batch[2].tolist() for batch in batch_lists]


class TorchTest(WorkersTest):
    """A torch DataLoader that a framework makes of our attributes."""

    def made_of(self, loader, **changed):
        names = ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator",
                 "prefetch_factor", "persistent_workers")
        given = {name: getattr(loader, name) for name in names if getattr(loader, name) is not None}
        return Torch(loader.dataset, batch_sampler=loader.batch_sampler, **{**given, **changed})

    def test_it_reads_what_ours_would_give_next(self):
        for keywords in ({}, {"shuffle": True}, {"shuffle": True, "rank": 1, "world_size": 3}, {"drop_last": True},
                         {"sampler": [5, 3, 8, 1, 2]}, {"batch_sampler": [[3, 1], [2]]}):
            with self.subTest(**keywords):
                if "batch_sampler" not in keywords:
                    keywords["batch_size"] = 3
                loader = self.loader(rows(), timeout=0, **keywords)
                for _ in range(2):
                    told = numbers(self.made_of(loader))
                    self.assertEqual(numbers(loader), told)

    def test_samplers_are_torchs(self):
        for shuffle, kind in ((False, torch.utils.data.SequentialSampler), (True, torch.utils.data.RandomSampler)):
            loader = self.loader(rows(), batch_size=3, shuffle=shuffle)
            self.assertIsInstance(loader.sampler, kind)
            self.assertIsInstance(loader.batch_sampler, torch.utils.data.BatchSampler)
            self.assertEqual((loader.batch_sampler.batch_size, loader.batch_sampler.drop_last, len(loader.sampler)), (3, False, 40))

    def test_an_iterable_dataset_has_endless_ones(self):
        from python_datasets import Counting
        loader = self.loader(Counting(), batch_size=3)
        self.assertEqual(next(iter(loader.batch_sampler)), [None] * 3)

    def test_it_is_no_instance_of_torchs_class(self):
        """Frameworks rebuild what is one, by torch's class, which would leave Penstock out without a word."""
        self.assertNotIsInstance(self.loader(rows()), Torch)


class AccelerateTest(WorkersTest):
    def test_prepare_leaves_it_alone(self):
        loader = self.loader(rows(), batch_size=8)
        self.assertIs(framework("accelerate").Accelerator(cpu=True).prepare(loader), loader)

    def test_the_first_batches_are_skipped(self):
        accelerate = framework("accelerate")
        for keywords in ({}, {"shuffle": True}, {"shuffle": True, "num_workers": 0}):
            loader = self.loader(rows(), batch_size=8, timeout=0, **keywords)
            for _ in range(2):
                rest = numbers(accelerate.skip_first_batches(loader, 3))
                self.assertEqual(rest, numbers(loader)[3:])


class LightningTest(WorkersTest):
    def module(self):
        class Module(framework("lightning").LightningModule):
            def __init__(self):
                super().__init__()
                self.layer, self.seen, self.states = torch.nn.Linear(4, 2), [], []

            def training_step(self, batch, _):
                self.seen.append(batch[2].tolist())
                return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        return Module()

    def trainer(self, folder, **keywords):
        return framework("lightning").Trainer(accelerator="cpu", logger=False, enable_progress_bar=False,
                                              enable_model_summary=False, default_root_dir=folder, **keywords)

    def test_it_trains_in_our_order_and_resumes_in_the_middle_of_an_epoch(self):
        lightning = framework("lightning")
        here = self.loader(rows(), batch_size=8, shuffle=True, num_workers=0)
        expected = [numbers(here), numbers(here)]
        module, loader = self.module(), self.loader(rows(), batch_size=8, shuffle=True)
        saving = lightning.pytorch.callbacks.ModelCheckpoint(dirpath=self.folder, filename="{step}", every_n_train_steps=3, save_top_k=-1)
        self.trainer(self.folder, max_epochs=2, callbacks=[saving]).fit(module, loader)
        self.assertEqual(module.seen, sum(expected, []))

        path = f"{self.folder}/step=3.ckpt"
        other = self.module()
        self.trainer(self.folder, max_epochs=2, enable_checkpointing=False).fit(
            other, self.loader(rows(), batch_size=8, shuffle=True), ckpt_path=path)
        self.assertEqual(other.seen, sum(expected, [])[3:])


class TrainerTest(WorkersTest):
    """Hugging Face's Trainer with get_train_dataloader overridden."""

    def trainer(self, loader, **keywords):
        transformers = framework("transformers")
        framework("accelerate")
        seen = []

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 2)

            def forward(self, x, labels, number):
                seen.append(number.tolist())
                return {"loss": torch.nn.functional.cross_entropy(self.layer(x), labels)}

        class Trainer(transformers.Trainer):
            def get_train_dataloader(self):
                return loader

        arguments = transformers.TrainingArguments(self.folder, use_cpu=True, report_to=[], disable_tqdm=True, save_steps=3,
                                                   num_train_epochs=2, remove_unused_columns=False, **keywords)
        return Trainer(Model(), arguments, train_dataset=loader.dataset), seen

    def loader_of_dicts(self, **keywords):
        dataset = Shaped(lambda i: {"x": torch.full((4,), float(i)), "labels": i % 2, "number": i}, 40)
        return self.loader(dataset, batch_size=8, shuffle=True, timeout=0, **keywords)

    def test_it_trains_and_resumes(self):
        here = self.loader_of_dicts(num_workers=0)
        expected = [batch["number"].tolist() for _ in range(2) for batch in here]
        trainer, seen = self.trainer(self.loader_of_dicts())
        trainer.train()
        self.assertEqual(seen, expected)

        trainer, seen = self.trainer(self.loader_of_dicts())
        trainer.train(resume_from_checkpoint=f"{self.folder}/checkpoint-3")
        self.assertEqual(seen, expected[3:])


class IgniteTest(WorkersTest):
    def test_engines(self):
        engines = framework("ignite.engine"), framework("ignite.engine.deterministic")
        here = self.loader(rows(), batch_size=8, shuffle=True, num_workers=0)
        expected = [numbers(here), numbers(here), numbers(here)]
        for make in (engines[0].Engine, engines[1].DeterministicEngine):
            seen = []
            make(lambda _, batch: seen.append(batch[2].tolist())).run(self.loader(rows(), batch_size=8, shuffle=True), max_epochs=2)
            self.assertEqual(seen, sum(expected[:2], []))

            seen.clear()  # epochs shorter than the loader's: one iterator goes on
            engine = make(lambda _, batch: seen.append(batch[2].tolist()))
            engine.run(self.loader(rows(), batch_size=8, shuffle=True), max_epochs=4, epoch_length=3)
            self.assertEqual(seen, sum(expected, [])[:12])


class StatefulTest(WorkersTest):
    def test_it_has_torchdatas_protocol(self):
        stateful = framework("torchdata.stateful_dataloader")
        self.assertIsInstance(self.loader(rows()), stateful.Stateful)
        for taken in (0, 2, 5):
            loader = self.loader(rows(), batch_size=8, shuffle=True)
            iterator = iter(loader)
            for _ in range(taken):
                next(iterator)
            state, rest = loader.state_dict(), [plain(batch) for batch in iterator]
            other = self.loader(rows(), batch_size=8, shuffle=True)
            other.load_state_dict(state)
            if taken < 5:
                self.assertEqual(batches(other), rest)
            else:
                self.assertEqual(len(batches(other)), 5)

    def test_torchs_checkpoints_take_it(self):
        self.assertIsInstance(self.loader(rows()), framework("torch.distributed.checkpoint.stateful").Stateful)


if __name__ == "__main__":
    support.main()

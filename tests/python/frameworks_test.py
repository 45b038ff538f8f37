"""Frameworks around PyTorch accept the loader unchanged."""
import importlib
import unittest

import support

torch = support.need("torch")

from loader_fixture import LoaderFixture, ids  # noqa: E402


# Imported first, because a private daemon would not wait for such slow imports.
FRAMEWORKS = {}
for each in ("lightning", "accelerate", "transformers"):
    try:
        FRAMEWORKS[each] = importlib.import_module(each)
    except ImportError as missing:
        print(f"SKIPPED: frameworks_test: {each} is not installed ({missing})")


def framework(name):
    if name not in FRAMEWORKS:
        raise unittest.SkipTest(f"{name} is not installed")
    return FRAMEWORKS[name]


class LightningTest(LoaderFixture):
    def module(self):
        class Module(framework("lightning").LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3 * 32 * 32, 10)
                self.seen, self.samples, self.valid = [], [], []

            def training_step(self, batch, _):
                images, labels = batch
                self.seen += labels.tolist()
                self.samples += batch.sample_ids.tolist()
                return torch.nn.functional.cross_entropy(self.layer(images.flatten(1)), labels)

            def validation_step(self, batch, _):
                self.valid += batch.sample_ids[batch.valid.cpu()].tolist()

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        return Module()

    def trainer(self, **keywords):
        return framework("lightning").Trainer(accelerator="cpu", logger=False, enable_checkpointing=False,
                                              enable_progress_bar=False, enable_model_summary=False, **keywords)

    def test_it_trains_and_saves_the_loaders_state(self):
        module, loader = self.module(), self.loader(batch_size=10, shuffle=True)

        self.trainer(max_epochs=2).fit(module, loader)

        self.assertEqual(len(module.seen), 200)
        self.assertEqual(sorted(module.samples), sorted([*range(100)] * 2))
        self.assertEqual(loader.epoch, 2)

    def test_batches_that_it_moved_know_their_samples(self):
        module = self.module()
        loaders = [self.loader(batch_size=16, rank=rank, world_size=3) for rank in range(3)]

        for loader in loaders:
            self.trainer().validate(module, loader, verbose=False)

        self.assertEqual(sorted(module.valid), list(range(100)))

    def test_its_mover_keeps_what_a_batch_knows(self):
        framework("lightning")
        from lightning.fabric.utilities.apply_func import move_data_to_device
        batch = next(iter(self.loader(batch_size=4)))

        moved = move_data_to_device({"pair": [batch]}, torch.device("cpu"))["pair"][0]

        self.assertEqual((moved.valid_rows, moved.position), (4, batch.position))

    def test_fabric_says_that_it_takes_torchs_class_alone(self):
        lightning = framework("lightning")
        fabric = lightning.Fabric(accelerator="cpu", devices=1)

        with self.assertRaisesRegex(TypeError, "DataLoader"):
            fabric.setup_dataloaders(self.loader(batch_size=4))
        images, _ = next(iter(self.loader(batch_size=4, device=fabric.device)))
        self.assertEqual(images.device, fabric.device)


class AccelerateTest(LoaderFixture):
    def test_prepare_leaves_it_alone(self):
        accelerate = framework("accelerate")
        loader = self.loader(batch_size=10)

        prepared = accelerate.Accelerator(cpu=True).prepare(loader)

        self.assertIs(prepared, loader)
        self.assertEqual(ids(prepared), list(range(100)))

    def test_its_mover_keeps_what_a_batch_knows(self):
        framework("accelerate")
        from accelerate.utils import send_to_device
        batch = next(iter(self.loader(batch_size=4)))

        moved = send_to_device([batch], torch.device("cpu"), non_blocking=True)[0]

        self.assertEqual((moved.valid_rows, moved.sample_ids.tolist()), (4, [0, 1, 2, 3]))

    def test_it_finds_a_batchs_size_and_joins_batches(self):
        framework("accelerate")
        from accelerate.utils import concatenate, find_batch_size
        batches = list(self.loader(batch_size=30))

        joined = concatenate(batches)

        self.assertEqual([find_batch_size(batch) for batch in batches], [30, 30, 30, 10])
        self.assertEqual(tuple(joined["image"].shape), (100, 3, 32, 32))

    def test_the_first_batches_are_skipped(self):
        accelerate = framework("accelerate")
        for keywords in ({}, {"shuffle": True}, {"rank": 1, "world_size": 2, "shuffle": True}, {"prefetch_factor": 2, "num_workers": 3}):
            with self.subTest(**keywords):
                whole = ids(list(self.loader(batch_size=10, **keywords))[3:])

                rest = accelerate.skip_first_batches(self.loader(batch_size=10, **keywords), 3)

                self.assertEqual(ids(rest), whole)


class TransformersTest(LoaderFixture):
    """Tests Transformers' Trainer, which skips the samples that it already had when it resumes."""

    def trainer(self, loader, folder, **keywords):
        transformers = framework("transformers")

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3 * 32 * 32, 10)

            def forward(self, image, label):
                seen.append(int(image.sum() * 1000))
                return {"loss": torch.nn.functional.cross_entropy(self.layer(image.flatten(1)), label)}

        class Trainer(transformers.Trainer):
            def get_train_dataloader(self):
                return loader

        seen = []
        arguments = transformers.TrainingArguments(folder, use_cpu=True, report_to=[], disable_tqdm=True, save_steps=4,
                                                   per_device_train_batch_size=10, remove_unused_columns=False, **keywords)
        trainer = Trainer(model=Model(), args=arguments, train_dataset=loader.dataset)
        return trainer, seen

    def test_it_resumes_where_it_was(self):
        loader = lambda: self.loader(batch_size=10, shuffle=True)
        trainer, whole = self.trainer(loader(), self.folder + "/whole", num_train_epochs=2)
        trainer.train()

        resumed, rest = self.trainer(loader(), self.folder + "/resumed", num_train_epochs=2)
        resumed.train(resume_from_checkpoint=self.folder + "/whole/checkpoint-4")

        self.assertEqual(len(whole), 20)
        self.assertEqual(rest, whole[4:])


if __name__ == "__main__":
    support.main()

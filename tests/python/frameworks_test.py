"""Frameworks around PyTorch take the loader as it is."""
import unittest

import support

torch = support.need("torch")

import penstock  # noqa: E402
from loader_fixture import LoaderFixture, ids  # noqa: E402


def framework(name):
    try:
        return __import__(name)
    except ImportError as error:
        print(f"SKIPPED: frameworks_test: {name} is not installed ({error})")
        raise unittest.SkipTest(str(error)) from None


class LightningTest(LoaderFixture):
    def test_it_trains_and_saves_the_loaders_state(self):
        lightning = framework("lightning")

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3 * 32 * 32, 10)
                self.seen = []

            def training_step(self, batch, _):
                self.seen += batch["label"].tolist()
                return torch.nn.functional.cross_entropy(self.layer(batch["image"].flatten(1)), batch["label"])

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        module, loader = Module(), self.loader(batch_size=10, shuffle=True)
        trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False)

        trainer.fit(module, loader)

        self.assertEqual(len(module.seen), 200)
        self.assertEqual(loader.epoch, 2)


class AccelerateTest(LoaderFixture):
    def test_prepare_leaves_it_alone(self):
        accelerate = framework("accelerate")
        loader = self.loader(batch_size=10)

        prepared = accelerate.Accelerator(cpu=True).prepare(loader)

        self.assertIs(prepared, loader)
        self.assertEqual(ids(prepared), list(range(100)))


if __name__ == "__main__":
    support.main()

"""A PyTorch training loop learns from MNIST's own files, fed by Penstock."""
import os
import statistics
import time

import support

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

IMAGES = os.path.join(support.DATA or "", "mnist", "t10k-images-idx3-ubyte.gz")
if not os.path.isfile(IMAGES):
    support.skip("PENSTOCK_TEST_DATA has no mnist/t10k-images-idx3-ubyte.gz")

TRAIN, TEST = range(8000), range(8000, 10_000)
EPOCHS = 3


class Shuffled(torch.utils.data.Sampler):
    """Yields the training part in a new order each epoch."""

    def __init__(self, seed):
        self.generator = torch.Generator()
        self.generator.manual_seed(seed)

    def __len__(self):
        return len(TRAIN)

    def __iter__(self):
        return iter(torch.randperm(len(TRAIN), generator=self.generator).tolist())


def network():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                         nn.Flatten(), nn.Linear(32 * 5 * 5, 64), nn.ReLU(), nn.Linear(64, 10))


class MnistTest(support.FeedTest):
    def loader(self, **keywords):
        loader = penstock.torch.DataLoader(IMAGES, transform=[penstock.Normalize([0.1307], [0.3081])], **keywords)
        self.addCleanup(loader.close)
        return loader

    def accuracy_after_training(self, seed):
        torch.manual_seed(seed)
        train = self.loader(batch_size=50, sampler=Shuffled(seed))
        test = self.loader(batch_size=500, sampler=list(TEST))
        model = network()
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        for _ in range(EPOCHS):
            for batch in train:
                loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            right = sum(int((model(batch["image"]).argmax(1) == batch["label"]).sum()) for batch in test)
        return right / len(TEST)

    def test_it_learns(self):
        begin = time.monotonic()

        reached = [self.accuracy_after_training(seed) for seed in range(3)]

        seconds = time.monotonic() - begin
        print(f"accuracy {reached} after {EPOCHS} epochs of {len(TRAIN)}, {seconds:.0f} s for three seeds")
        self.assertGreaterEqual(statistics.median(reached), 0.96)
        self.assertLess(seconds, 120)

    def test_images_are_what_the_file_holds(self):
        import gzip
        with gzip.open(IMAGES) as file:
            stored = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[16:].view(10_000, 1, 28, 28)
        loader = penstock.torch.DataLoader(IMAGES, batch_size=1000, shuffle=True, dtype="uint8")
        self.addCleanup(loader.close)

        for batch in loader:
            self.assertTrue(torch.equal(batch["image"], stored[batch.sample_ids]))

        self.assertEqual(loader.dataset.classes, [str(digit) for digit in range(10)])

    def test_images_are_cropped_and_turned_as_decoded_ones(self):
        steps = [penstock.RandomCrop(28, padding=2), penstock.RandomRotation(10)]
        with penstock.torch.DataLoader(IMAGES, batch_size=100, transform=steps) as loader:
            self.assertEqual(next(iter(loader))["image"].shape, (100, 1, 28, 28))


if __name__ == "__main__":
    support.main()

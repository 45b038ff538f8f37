"""Samples that repeat within an epoch, on one rank or several, get a different crop each time."""
import os
from unittest import mock

import support

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
from loader_fixture import LoaderFixture  # noqa: E402


class RepeatedAugmentation(torch.utils.data.Sampler):
    """Like torchvision's training scripts: repeats each sample of an epoch in place, and deals the result out to
    ranks one by one."""

    def __init__(self, samples, rank, ranks, repeats=3):
        self.samples, self.rank, self.ranks, self.repeats = samples, rank, ranks, repeats

    def _all(self):
        order = torch.randperm(self.samples, generator=torch.Generator().manual_seed(5))
        order = order.repeat_interleave(self.repeats)
        return torch.cat([order, order[:-len(order) % self.ranks]]).tolist()

    def __len__(self):
        return -(-self.samples * self.repeats // self.ranks)

    def __iter__(self):
        return iter(self._all()[self.rank::self.ranks])


class RepeatsTest(LoaderFixture):
    def crops(self, ranks, repeats):
        """Returns, for each sample, the bytes of every row that held it, across all ranks."""
        found = {}
        for rank in range(ranks):
            with mock.patch.dict(os.environ, {"RANK": str(rank), "WORLD_SIZE": str(ranks)}):
                loader = self.loader(sampler=RepeatedAugmentation(100, rank, ranks, repeats), batch_size=16,
                                     dtype="uint8", transform=[penstock.RandomResizedCrop(32)])
            for batch in loader:
                for sample, image in zip(batch.sample_ids.tolist(), batch["image"]):
                    found.setdefault(sample, []).append(image.numpy().tobytes())
        return found

    def test_no_repeat_of_a_sample_is_the_same_on_any_rank(self):
        for ranks, repeats in ((1, 3), (2, 3), (2, 2), (3, 3)):
            with self.subTest(ranks=ranks, repeats=repeats):
                found = self.crops(ranks, repeats)

                self.assertEqual(len(found), 100)
                alike = sum(len(crops) - len(set(crops)) for crops in found.values())
                self.assertGreaterEqual(min(map(len, found.values())), repeats)
                self.assertEqual(alike, 0)

    def test_padding_is_another_crop_of_its_sample(self):
        found = {}
        for rank in range(3):
            loader = self.loader(rank=rank, world_size=3, batch_size=16, shuffle=True, dtype="uint8",
                                 last_batch="pad_batch", transform=[penstock.RandomResizedCrop(32)])
            for batch in loader:
                for sample, image in zip(batch.sample_ids.tolist(), batch["image"]):
                    found.setdefault(sample, []).append(image.numpy().tobytes())
        padded = {sample: crops for sample, crops in found.items() if len(crops) > 1}

        self.assertGreater(len(padded), 0)
        for crops in padded.values():
            self.assertEqual(len(set(crops)), len(crops))

    def test_ranks_that_share_one_order_share_its_crops(self):
        order = list(range(0, 100, 3)) * 2
        images = []
        for _ in range(2):
            loader = self.loader(sampler=order, rank=0, world_size=2, batch_size=17, dtype="uint8",
                                 transform=[penstock.RandomResizedCrop(32)])
            images.append(torch.cat([batch["image"] for batch in loader]))

        self.assertTrue(torch.equal(*images))


if __name__ == "__main__":
    support.main()

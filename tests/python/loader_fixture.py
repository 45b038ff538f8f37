"""Provides PyTorch loaders over a hundred photographs."""
import support

support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

CROP = [penstock.RandomResizedCrop(32), penstock.HorizontalFlip()]
MIDDLE = [penstock.Resize(40), penstock.CenterCrop(32)]


def ids(batches):
    return [int(sample) for batch in batches for sample in batch.sample_ids]


class LoaderFixture(support.FeedTest):
    def loader(self, **keywords):
        keywords.setdefault("transform", CROP)
        loader = penstock.torch.DataLoader(keywords.pop("dataset", self.photographs), **keywords)
        self.addCleanup(loader.close)
        return loader

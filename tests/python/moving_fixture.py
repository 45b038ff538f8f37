"""Provides equal loaders of torch and Penstock over the same photographs."""
import support

torch = support.need("torch")
torchvision = support.need("torchvision")

import torch.utils.data  # noqa: E402, F811
from torchvision import transforms  # noqa: E402

import penstock.torch  # noqa: E402

TEST = transforms.Compose([transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor(),
                           transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


class MovingFixture(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.images = torchvision.datasets.ImageFolder(cls.photographs, TEST)

    def torchs(self, **keywords):
        dataset = keywords.pop("dataset", self.images)
        return torch.utils.data.DataLoader(dataset, **keywords)

    def ours(self, **keywords):
        loader = penstock.torch.DataLoader(self.photographs, transform=TEST, **keywords)
        self.addCleanup(loader.close)
        return loader

    def both(self, **keywords):
        return self.torchs(**keywords), self.ours(**keywords)

    def check(self, theirs, ours):
        """Checks that both give the same pairs of images and labels, to the last bit."""
        theirs, ours = list(theirs), list(ours)
        self.assertEqual(len(theirs), len(ours))
        for (images, labels), (our_images, our_labels) in zip(theirs, ours):
            self.assertTrue(torch.equal(images, our_images))
            self.assertTrue(torch.equal(labels, our_labels))

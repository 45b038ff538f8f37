"""The usual pipeline: ImageFolder and its transforms, from torchvision if it is installed, else the same steps with Pillow,
on which torchvision's are built."""
import math
import os
import random

import torch


def dataset(root, size, mean, std):
    """(the dataset, the name of the library that it uses)"""
    try:
        import torchvision
        from torchvision import datasets, transforms
    except ImportError:
        import PIL
        return PillowFolder(root, size, mean, std), f"Pillow {PIL.__version__}"
    steps = [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
             transforms.Normalize(mean, std)]
    return datasets.ImageFolder(root, transforms.Compose(steps)), f"torchvision {torchvision.__version__}"


class PillowFolder(torch.utils.data.Dataset):
    """ImageFolder with RandomResizedCrop, RandomHorizontalFlip, ToTensor and Normalize."""

    def __init__(self, root, size, mean, std):
        classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.samples = [(os.path.join(root, name, file), label) for label, name in enumerate(classes)
                        for file in sorted(os.listdir(os.path.join(root, name)))]
        self.size = size
        self.mean = torch.tensor(mean).view(3, 1, 1)
        self.std = torch.tensor(std).view(3, 1, 1)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        import numpy
        from PIL import Image
        path, label = self.samples[index]
        with open(path, "rb") as file:
            image = Image.open(file).convert("RGB")
        left, top, width, height = _box(*image.size)
        image = image.crop((left, top, left + width, top + height)).resize((self.size, self.size), Image.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        tensor = torch.from_numpy(numpy.array(image)).permute(2, 0, 1).contiguous().float().div_(255)
        return tensor.sub_(self.mean).div_(self.std), label


def _box(width, height):
    """A random box, drawn as torchvision does."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side

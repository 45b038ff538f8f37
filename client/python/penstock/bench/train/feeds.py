"""Where the batches of a training loop come from: bfloat16 images, channels_last, and labels, on its device.

Each function returns a `Feed`. Its generator is closed after a round, so that no loader works during another one's round.
"""
from typing import Any, Callable, Iterator, NamedTuple, Tuple

import torch

from .. import folder
from ..side import MEAN, STD


class Feed(NamedTuple):
    name: str
    batches: Callable[[], Iterator[Tuple[Any, Any]]]
    ready: int  # most batches that it makes ahead
    settled: Callable[[], bool] = lambda: True  # whether it will go on as it is; decode="auto" has to choose first


def synthetic(asked, device):
    images = torch.randn(asked.batch_size, 3, asked.size, asked.size, device=device).to(
        torch.bfloat16, memory_format=torch.channels_last)
    labels = torch.randint(asked.classes, (asked.batch_size,), device=device)

    def batches():
        while True:
            yield images, labels

    return Feed("synthetic", batches, 0)


def loader_of(asked, device, decode):
    """Penstock's. A daemon starts as it does for any program: by itself, with its default settings."""
    import penstock
    import penstock.torch
    loader = penstock.torch.DataLoader(
        asked.data, asked.batch_size, shuffle=True, drop_last=True, device=device, dtype="bfloat16",
        memory_format=torch.channels_last, decode=decode, gpu_share=asked.gpu_share if decode == "gpu" else None,
        transform=[penstock.RandomResizedCrop(asked.size), penstock.HorizontalFlip(), penstock.Normalize(MEAN, STD)])
    if len(loader) == 0:
        raise SystemExit(f"penstock: {asked.data} has too few photographs for one batch: got {len(loader.dataset)}, expected "
                         f"{asked.batch_size} for each rank; give a smaller --batch-size, or more photographs")
    return loader


def of_loader(loader, decode):
    def batches():
        while True:
            yield from loader

    return Feed("Penstock" if decode == "cpu" else f"Penstock, decode={decode!r}", batches, 4,
                lambda: loader._gpu_share.is_chosen)


def dataloader(asked, device, workers):
    """Raises ImportError if neither torchvision nor Pillow is installed."""
    dataset, pipeline = folder.dataset(asked.data, asked.size, MEAN, STD)
    # Long epochs, so that their ends do not matter.
    sampler = torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=10**7)
    loader = torch.utils.data.DataLoader(dataset, asked.batch_size, sampler=sampler, drop_last=True, num_workers=workers,
                                         pin_memory=device.type == "cuda")

    def batches():
        for images, labels in loader:
            images = images.to(device, non_blocking=True).to(torch.bfloat16, memory_format=torch.channels_last)
            yield images, labels.to(device, non_blocking=True)

    return Feed(f"DataLoader, {workers} workers, {pipeline}", batches, 2 * workers)

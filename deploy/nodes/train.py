#!/usr/bin/env python3
"""Trains a small network on photographs in shards, on any number of nodes. torchrun starts it on each node:

    torchrun --nnodes 3 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint node1:29400 \
        train.py --data 's3://photographs/imagenet/train-{000..146}.tar' --checkpoint /shared/imagenet.pt

Each rank takes its samples from the daemon of its node. If a rank, a node or the whole job is lost, start it again
with any number of nodes: it goes on after the last checkpoint, and each epoch still has every sample once.
"""
import argparse
import os
import time

import penstock
import penstock.torch
import torch
import torch.distributed as dist


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", required=True, help="URL of shards, or the name of a daemon's dataset")
    parser.add_argument("--checkpoint", required=True, help="file that all nodes see")
    parser.add_argument("--every", type=int, default=100, metavar="STEPS", help="between checkpoints")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch", type=int, default=2048, help="samples of a step, over all ranks")
    parser.add_argument("--classes", type=int, default=1000)
    return parser.parse_args()


def network(classes):
    """Stands for yours."""
    layers, width = [], 3
    for wider in (32, 64, 128):
        layers += [torch.nn.Conv2d(width, wider, 3, stride=4, padding=1), torch.nn.ReLU()]
        width = wider
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(width, classes))


def save(file, content):
    """No reader ever sees half a checkpoint."""
    torch.save(content, file + ".new")
    os.replace(file + ".new", file)


def main():
    options = parse()
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank, world, local = dist.get_rank(), dist.get_world_size(), int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)

    # The loader asks torch.distributed for its rank. With drop_last, ranks have equally many steps.
    loader = penstock.torch.DataLoader(
        options.data, batch_size=max(options.batch // world, 1), shuffle=True, drop_last=True, seed=0, device=str(device),
        transform=[penstock.RandomResizedCrop(224), penstock.HorizontalFlip(), penstock.Normalize("imagenet")])
    model = network(options.classes).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    epoch = 0
    if os.path.exists(options.checkpoint):
        found = torch.load(options.checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(found["model"])
        optimizer.load_state_dict(found["optimizer"])
        loader.load_state_dict(found["loader"])
        epoch = found["loader"]["epoch"]
    replica = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local] if on_gpu else None)

    def checkpoint():
        """The position is the same on every rank, so one rank keeps it for all."""
        if rank == 0:
            save(options.checkpoint, {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                      "loader": loader.state_dict()})

    step = 0
    while epoch < options.epochs:
        began, samples, loss = time.monotonic(), 0, torch.zeros((), device=device)
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(replica(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            samples += len(labels)
            step += 1
            if step % options.every == 0:
                checkpoint()
        checkpoint()
        if rank == 0:
            seconds = time.monotonic() - began
            print(f"epoch {epoch}: loss {loss.item():.3f}, {samples * world} samples on {world} ranks, "
                  f"{samples * world / seconds:.0f} a second", flush=True)
        epoch += 1
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""The processes that train together: one, or those that torchrun started."""
import os

import torch
from torch import distributed


class Ranks:
    """`device`: "cpu", "cuda", or "cuda:N" for one process; with several, each has the GPU of its local rank."""

    def __init__(self, device):
        self.count, self.number = _variable("WORLD_SIZE", 1), _variable("RANK", 0)
        self.on_node = _variable("LOCAL_WORLD_SIZE", 1)
        self.device = torch.device(device)
        if self.device.type == "cuda":
            index = _variable("LOCAL_RANK", 0) if self.count > 1 else self.device.index or 0
            self.device = torch.device("cuda", index)
            torch.cuda.set_device(index)
        if self.count > 1:
            distributed.init_process_group("nccl" if self.device.type == "cuda" else "gloo")
            self._hosts = distributed.new_group(backend="gloo")  # messages that don't wait for the GPU

    @property
    def is_first(self):
        return self.number == 0

    def decided(self, value):
        """Rank 0's number, on every rank."""
        if self.count == 1:
            return value
        message = torch.tensor([float(value)], dtype=torch.float64)
        distributed.broadcast(message, 0, group=self._hosts)
        return float(message)

    def wrapped(self, model):
        if self.count == 1:
            return model
        return torch.nn.parallel.DistributedDataParallel(
            model, device_ids=[self.device.index] if self.device.type == "cuda" else None)

    def end(self):
        if self.count > 1:
            distributed.destroy_process_group()


def _variable(name, usual):
    return int(os.environ.get(name, usual))

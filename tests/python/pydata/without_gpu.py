"""Moves of batches as to a GPU, but within ordinary memory, for tests where there is none."""
from python_datasets import torch

from penstock._pydata import delivery
from penstock._pydata.gpu import copier, moves


class CpuMove(moves.Move):
    """Into other tensors."""

    def __init__(self, batch, thread):
        super().__init__(batch, thread, "to", ("cpu",))
        self._made = [torch.empty_strided(old.shape, old.stride(), dtype=old.dtype) for old in self._plain]
        self._copy = thread.copy([(new.data_ptr(), old.data_ptr(), old.numel() * old.element_size())
                                  for old, new in zip(self._plain, self._made)], self._plain)

    def start(self):
        self._await_copy()

    def arrive(self):
        pass

    @staticmethod
    def _by_torch(tensor):
        return tensor.clone()


class CpuMover(moves.Pins):
    def begin(self, batch):
        return CpuMove(batch, self._copier)


def deliver(device, pin_memory):
    """Instead of delivery.of."""
    thread = copier.Copier()
    return delivery.Delivery(mover=CpuMover(thread), copier=thread)

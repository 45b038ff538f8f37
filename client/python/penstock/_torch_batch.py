"""Batches of torch tensors."""
import torch

from ._batch import Batch
from .errors import InvalidArgument

SAMPLE_ID, VALID = "sample_id", "valid"


class TensorBatch(Batch):
    """A Batch that moves as a tensor does, and keeps its position and sample ids."""

    _sample_ids = b""

    @property
    def sample_ids(self):
        """int64, on the host."""
        self._known_step()
        return torch.frombuffer(bytearray(self._sample_ids), dtype=torch.int64)

    # Frameworks use an object's `to` if it has one, before they check for a dict or a list.

    def to(self, device, non_blocking=False):
        """The same batch on another device."""
        if isinstance(device, torch.dtype):
            raise InvalidArgument(f"a batch has tensors of several types; cast one of them: batch['image'].to("
                                  f"{device}), or pass dtype='{str(device)[6:]}' to the loader")
        return self._with(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def cuda(self, device=None, non_blocking=False):
        return self._with(lambda tensor: tensor.cuda(device, non_blocking=non_blocking))

    def cpu(self):
        return self._with(lambda tensor: tensor.cpu())

    def pin_memory(self):
        return self._with(lambda tensor: tensor.pin_memory())

    def _with(self, change):
        moved = self.copy()
        for name, value in self.items():
            if isinstance(value, torch.Tensor):
                moved[name] = change(value)
        return moved


def add_row_info(batch):
    """Adds a batch's sample ids and valid rows as tensors, so that nothing loses them."""
    device = next(iter(batch)).device
    batch[SAMPLE_ID] = batch.sample_ids.to(device)
    batch[VALID] = batch.valid

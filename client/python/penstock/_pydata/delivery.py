"""Hands a finished structure to the loop: as it is, pinned, or on a device, as torch's DataLoader and `Tensor.to` do."""
from ..errors import FailedPrecondition
from .gpu.structure import changed


class Delivery:
    """Of one loader. `change`: what becomes of a tensor; None: nothing. `mover`: brings batches of other processes
    there (gpu/moves.py); None: they are changed when the loop gets them."""

    def __init__(self, change=None, method=None, arguments=(), mover=None, copier=None):
        self._change, self._method, self._arguments = change, method, arguments
        self._mover, self._copier = mover, copier

    def ahead(self, source):
        """The source of remote.py, with batches that are on their way when the loop asks for them."""
        if self._mover is None:
            return source
        from .gpu.ahead import Ahead
        return Ahead(source, self._mover)

    def give(self, batch):
        if self._mover is not None:
            from .gpu.moves import Move
            if isinstance(batch, Move):
                return batch.give()
        return batch if self._change is None else changed(batch, self._change, self._method, self._arguments)

    def close(self):
        if self._mover is not None:
            self._mover.close()
            self._copier.end()


def of(device, pin_memory):
    """`device`: "cpu", "auto", or one of torch's. On a GPU `pin_memory` changes nothing."""
    import torch
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    target = torch.device(device)
    if target.type == "cuda":
        return _on_gpu(torch, target)
    if target.type != "cpu":
        return Delivery(lambda tensor: tensor.to(target, non_blocking=True), "to", (target,))
    if pin_memory and torch.cuda.is_available():
        from .gpu import copier, moves
        thread = copier.Copier()
        return Delivery(lambda tensor: tensor.pin_memory(), "pin_memory", (), moves.Pins(thread), thread)
    return Delivery()


def _on_gpu(torch, target):
    if not torch.cuda.is_available():
        raise FailedPrecondition(f"device is {str(target)!r}, but torch sees no GPU; give device='cpu', or 'auto' to "
                                 "use one if there is one")
    count, index = torch.cuda.device_count(), target.index
    if index is None:
        index = torch.cuda.current_device()
    if index >= count:
        raise FailedPrecondition(f"device is {str(target)!r}, but torch sees {count} of them; give one from 'cuda:0' "
                                 f"to 'cuda:{count - 1}'")
    from .gpu import copier, moves
    target, thread = torch.device("cuda", index), copier.Copier()
    return Delivery(lambda tensor: tensor.to(target, non_blocking=True), "to", (target,), moves.Device(target, thread),
                    thread)

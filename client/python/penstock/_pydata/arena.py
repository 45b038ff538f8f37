"""Lets torch's default_collate write a batch's tensors where they are sent from: into the slot, without a copy behind it.

In a worker, default_collate asks torch for shared memory (UntypedStorage._new_shared) and stacks samples into it. `install`
answers with a piece of the slot, and `slot.measure(batch, arena)` finds the tensor in its place. Nobody keeps these
tensors: only the loader's own call of default_collate gets them, and they are gone when the batch is written. Any other
collate function gets ordinary memory, because it may keep a batch; so does a dataset that calls default_collate.
"""
import ctypes

from ..errors import ResourceExhausted
from .slot_format import ALIGNMENT, HEADER_BYTES, aligned

_now = None  # the arena of the batch that is being collated


class Arena:
    """The memory of one slot after another."""

    def __init__(self, more_room):
        """`more_room`: a function from a number of bytes to a memoryview of at least as many, at the same address; or it
        raises ResourceExhausted."""
        self._more_room = more_room
        self.base = self.end = 0

    def begin(self, room):
        self._room, self._is_full = room, False
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(room))
        self.end = HEADER_BYTES  # bytes that are taken

    def during(self, collate):
        """The function, with its tensors in the slot."""
        def collate_in_place(samples):
            global _now
            _now = self
            try:
                return collate(samples)
            finally:
                _now = None

        return collate_in_place

    def take(self, nbytes):
        """A tensor of bytes in the slot; None if there is no room."""
        begin = aligned(self.end)
        if begin + nbytes > len(self._room):
            if self._is_full:
                return None
            try:
                self._room = self._more_room(begin + nbytes + ALIGNMENT)
            except ResourceExhausted:  # writing the batch says so
                self._is_full = True
                return None
        import torch
        self.end = begin + nbytes
        return torch.frombuffer(self._room, dtype=torch.uint8, count=nbytes, offset=begin)

    def offset_of(self, tensor, nbytes):
        """Where a contiguous tensor lies in the slot; None if it is elsewhere."""
        offset = tensor.data_ptr() - self.base
        if HEADER_BYTES <= offset <= self.end - nbytes and offset % ALIGNMENT == 0 and nbytes and tensor.is_contiguous():
            return offset
        return None


def install(torch):
    """Call it in a worker."""
    def new_shared(cls, size, *, device="cpu"):
        piece = None if _now is None or size == 0 or torch.device(device).type != "cpu" else _now.take(size)
        if piece is None:
            return cls(size, device=device)
        return piece.untyped_storage() if hasattr(piece, "untyped_storage") else piece.storage().untyped()

    torch.UntypedStorage._new_shared = classmethod(new_shared)

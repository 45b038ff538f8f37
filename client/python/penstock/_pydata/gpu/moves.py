"""A batch on its way to a GPU or into pinned memory.

The way to a GPU: slot ─(copier's threads)─► pinned buffer ─(copy engine, a stream of its own)─► new tensors. They
are allocated on the loop's current stream, which waits for the copy, so the loop may use, keep and free them like any
others. All calls of CUDA are made in the loop's thread, within next().
"""
from .structure import changed, is_plain, tensors_in

BUFFERS = 3      # pinned, of one loader: two batches ahead, and one that is being copied to the GPU
_ALIGNMENT = 256  # of tensors in a pinned buffer
_LEAST_BUFFER = 1 << 16


class Move:
    """One batch. `is_ready`: `start` would not wait. `start` begins the last part of the way, `arrive` has the loop's
    stream wait for it, and `give` returns the batch, once. If `start` raises, it may be called again."""

    def __init__(self, batch, copier, method, arguments):
        self._batch, self._copier = batch, copier
        self._method, self._arguments = method, arguments
        self._plain = list({id(tensor): tensor for tensor in tensors_in(batch, method) if is_plain(tensor)}.values())
        self._copy = None  # of the copier
        self._made = None  # what takes the plain tensors' places

    def is_ready(self):
        return self._copy.is_done()

    def _await_copy(self):
        if not self._copy.is_done():
            self._copier.go()
            self._copy.wait()

    def give(self):
        batch, self._batch = self._batch, None
        there = {id(old): new for old, new in zip(self._plain, self._made)}
        holder = [batch, self._plain]
        self._plain = self._made = None

        def move(tensor):
            new = there.pop(id(tensor), None)  # a tensor that is there twice becomes two, as torch has it
            return self._by_torch(tensor) if new is None else new

        given = changed(batch, move, self._method, self._arguments)
        del batch
        self._copier.drop(holder)
        self._copier.go()
        return given


class PinnedMove(Move):
    """Into pinned memory, each tensor for itself, as Tensor.pin_memory does."""

    def __init__(self, batch, copier):
        import torch
        super().__init__(batch, copier, "pin_memory", ())
        self._made = [torch.empty_strided(old.shape, old.stride(), dtype=old.dtype, device="cpu", pin_memory=True)
                      for old in self._plain]
        pieces = [(new.data_ptr(), old.data_ptr(), _bytes_of(old)) for old, new in zip(self._plain, self._made)]
        self._copy = copier.copy(pieces, (self._plain, self._made))

    def start(self):
        self._await_copy()

    def arrive(self):
        pass

    @staticmethod
    def _by_torch(tensor):
        return tensor.pin_memory()


class Pins:
    """Makes PinnedMoves."""

    def __init__(self, copier):
        self._copier = copier

    def begin(self, batch):
        return PinnedMove(batch, self._copier)

    def has_room(self):
        return True

    def close(self):
        pass


class DeviceMove(Move):
    def __init__(self, batch, copier, mover):
        super().__init__(batch, copier, "to", (mover.target,))
        self._mover = mover
        self._stream = self._event = None  # the stream that the tensors belong to; what passes when they are filled
        places, end = [], 0
        for tensor in self._plain:
            places.append(end)
            end += -(-_bytes_of(tensor) // _ALIGNMENT) * _ALIGNMENT
        self._places = places
        self._buffer = mover.buffer(end)
        base = self._buffer.memory.data_ptr()
        pieces = [(base + place, tensor.data_ptr(), _bytes_of(tensor)) for place, tensor in zip(places, self._plain)]
        self._copy = copier.copy(pieces, (self._plain, self._buffer.memory))

    def start(self):
        import torch
        if self._made is not None:
            return
        self._await_copy()
        target, side = self._mover.target, self._mover.stream
        stream = torch.cuda.current_stream(target)
        made = [torch.empty_strided(old.shape, old.stride(), dtype=old.dtype, device=target) for old in self._plain]
        side.wait_stream(stream)  # the memory may have been freed by work that this stream has not done yet
        memory = self._buffer.memory
        with torch.cuda.stream(side):
            for place, new in zip(self._places, made):
                old = memory[place:place + _bytes_of(new)].view(new.dtype).as_strided(new.shape, new.stride())
                new.copy_(old, non_blocking=True)
            self._buffer.event.record(side)
        self._made, self._stream, self._event = made, stream, self._buffer.event
        self._buffer.is_owned = False

    def arrive(self):
        import torch
        self._stream.wait_event(self._event)
        current = torch.cuda.current_stream(self._mover.target)
        if current != self._stream:  # the loop has changed streams since then
            current.wait_event(self._event)
            for tensor in self._made:
                tensor.record_stream(current)
        self._event = None

    def _by_torch(self, tensor):
        return tensor.to(self._mover.target, non_blocking=True)

    def __del__(self):
        """Of a batch that nobody got: its memory is free for its stream when the copy has ended."""
        event, buffer = getattr(self, "_event", None), getattr(self, "_buffer", None)
        if event is not None:
            try:
                self._stream.wait_event(event)
            except Exception:  # CUDA has ended, or failed for good
                pass
        elif buffer is not None and self._made is None and self._batch is not None:
            if self._copy is not None:
                self._await_copy()
            buffer.is_owned = False


class _Buffer:
    """`is_owned`: a batch's that is not on its way to the GPU yet."""

    def __init__(self, torch):
        self.memory, self.is_owned, self.event = None, False, torch.cuda.Event(blocking=True)


class Device:
    """Makes DeviceMoves to one GPU."""

    def __init__(self, target, copier):
        import torch
        self.target, self.stream = target, torch.cuda.Stream(target)
        self._copier, self._buffers = copier, []

    def begin(self, batch):
        return DeviceMove(batch, self._copier, self)

    def has_room(self):
        """Whether a buffer is free, so that `begin` would not wait."""
        return len(self._buffers) < BUFFERS or any(not each.is_owned and each.event.query() for each in self._buffers)

    def buffer(self, nbytes):
        """A pinned buffer that the GPU has read; waits for one. The caller owns it."""
        import torch
        free = [each for each in self._buffers if not each.is_owned]
        passed = [each for each in free if each.event.query()]
        if passed:
            buffer = max(passed, key=lambda each: 0 if each.memory is None else len(each.memory))
        elif len(self._buffers) < BUFFERS or not free:
            buffer = _Buffer(torch)
            self._buffers.append(buffer)
        else:
            buffer = free[0]
            buffer.event.synchronize()
        if buffer.memory is None or len(buffer.memory) < nbytes:
            buffer.memory = None
            size = 1 << max(nbytes - 1, _LEAST_BUFFER - 1).bit_length()  # torch rounds up to this anyway
            buffer.memory = torch.empty(size, dtype=torch.uint8, device="cpu", pin_memory=True)
        buffer.is_owned = True
        return buffer

    def close(self):
        """Batches that are on their way keep their buffers."""
        self._buffers = []


def _bytes_of(tensor):
    return tensor.numel() * tensor.element_size()

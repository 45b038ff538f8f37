"""What takes a batch's place in a slot: an exception of the program's code, and the end of a stream."""
import pickle
import re
import traceback
from typing import Any, NamedTuple, Optional

_MAX_TEXT = 256 * 1024  # characters of a traceback; the middle is left out


class _Lines(str):
    """A text that KeyError shows as it is: it shows its argument by repr()."""

    def __repr__(self):
        return str(self)


class Raised:
    """An exception that travels from a worker to the trainer: its type, its traceback as text, and where it happened."""

    def __init__(self, error, where):
        self._kind = _known_to_all(type(error))
        self._name = type(error).__name__
        self._where = where
        self._text = _shortened("".join(traceback.format_exception(type(error), error, error.__traceback__)))

    def shorten(self, characters):
        self._text = _shortened(self._text, characters)

    def reraise(self):
        """Raises an exception of the same type, with the worker's traceback in its message."""
        raise self.error()

    def error(self):
        message = f"Caught {self._name} {self._where}.\nOriginal {self._text}"
        if issubclass(self._kind, StopIteration):  # which would end the loop as if the epoch had ended
            return RuntimeError(message)
        if issubclass(self._kind, KeyError):
            return self._kind(_Lines(message))
        try:
            if getattr(self._kind, "message", None):
                return self._kind(message=message)
            return self._kind(message)
        except Exception:  # its constructor wants something else
            return RuntimeError(message)


class Local:
    """An exception of this process, which the loop gets as it is."""

    def __init__(self, error):
        self._error = error

    def reraise(self):
        error, self._error = self._error, None
        try:
            if isinstance(error, StopIteration):  # which would end the loop as if the epoch had ended
                raise RuntimeError("the dataset or collate_fn raised StopIteration") from error
            raise error
        finally:
            del error


_DATASET = re.compile(r"(?: of|dataset) 'python:[^']*'")
_BATCH = re.compile(r"the batch (?:of \d+ samples )?that begins with sample (\d+)"
                    r"(?:, and is not within a sample: it begins or collates it)?")
_MEMORY = ("signal 9 mostly means that memory ran out, of the machine or of a container or job; look at its log, and use fewer "
           "workers (num_workers={}), smaller batches or samples, or more memory")


def in_torchs_words(error, timeout, workers, batch=None):
    """The daemon's error with torch's words before it, which programs may look for. `batch`: a function that describes a
    batch by its number, if the daemon counts batches."""
    text = _DATASET.sub(lambda match: "" if match[0].startswith(" of") else "the dataset", str(error))
    if batch is not None:
        text = _BATCH.sub(lambda match: batch(int(match[1])), text)
    if isinstance(error, TimeoutError) and timeout:
        text = (f"DataLoader timed out after {timeout:g} seconds: {text}; give a longer timeout (timeout={timeout:g}) if "
                "batches may take that long")
    elif "worker processes died over it" in text:
        signal = re.search(r"killed by signal (\d+) \(([^)]*)\)", text)
        if signal is not None and signal[1] == "9":
            text = f"{text.rpartition('; look for')[0] or text}; {_MEMORY.format(workers)}"
        words = "exited unexpectedly" if signal is None else f"is killed by signal: {signal[2]}"
        text = f"DataLoader worker {words}: {text}"
    return error if text == str(error) else type(error)(text)


class Ended(NamedTuple):
    """A stream of an iterable dataset has no more samples."""

    stream: int


class Streamed(NamedTuple):
    """A stream's batch, with what is needed to go on behind it."""

    batch: Any
    samples: Optional[int]  # that the stream has made; None: it has ended with this batch
    state: Optional[bytes]  # what the dataset's state_dict() returned, pickled; None: it has none


def _known_to_all(kind):
    """The type, or the first of its bases that another process can import."""
    for each in kind.__mro__:
        if issubclass(each, Exception):
            try:
                if pickle.loads(pickle.dumps(each)) is each:
                    return each
            except Exception:
                continue
    return RuntimeError


def _shortened(text, most=_MAX_TEXT):
    if len(text) <= most:
        return text
    return f"{text[:most // 2]}\n… {len(text) - most} characters left out …\n{text[-most // 2:]}"

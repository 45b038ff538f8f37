"""Datasets and comparisons for tests of loaders over Python datasets."""
import collections
import dataclasses
import random

from slots import support

torch = support.need("torch")
numpy = support.need("numpy")

import penstock.torch  # noqa: E402

Pair = collections.namedtuple("Pair", "x y")


@dataclasses.dataclass
class Record:
    x: object
    y: object


class Numbers(torch.utils.data.Dataset):
    """Sample i, with draws of every generator."""

    def __init__(self, count=20):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return (index, random.random(), random.gauss(0, 1), numpy.random.rand(), numpy.random.randn(), torch.rand(2),
                penstock.rng().random())


class Shaped(torch.utils.data.Dataset):
    """Samples as a function makes them."""

    def __init__(self, make, count=7):
        self.make, self.count = make, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.make(index)


class ByItems(Numbers):
    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Failing(Numbers):
    """Samples whose number is in `bad` raise."""

    def __init__(self, bad, error=ValueError, count=20):
        super().__init__(count)
        self.bad, self.error = set(bad), error

    def __getitem__(self, index):
        if index in self.bad:
            raise self.error(f"sample {index} is bad")
        return index


class Counting(torch.utils.data.IterableDataset):
    """Numbers, divided among workers, with state_dict if `stateful`."""

    def __init__(self, count=20):
        self.count = count

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for number in range(first, self.count, step):
            yield number, random.random(), float(torch.rand(()))


class Stateful(torch.utils.data.IterableDataset):
    def __init__(self, count=20):
        self.count, self.at = count, None

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        begin, self.at = first if self.at is None else self.at, None
        for number in range(begin, self.count, step):
            self.next = number + step
            yield number, random.random()

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.at = state["next"]


def plain(value):
    """A structure as values that can be compared, with types and shapes."""
    if isinstance(value, torch.Tensor):
        return "tensor", str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, numpy.ndarray):
        return "array", str(value.dtype), value.shape, value.tolist()
    if dataclasses.is_dataclass(value):
        return type(value).__name__, plain(vars(value))
    if isinstance(value, dict):
        return type(value).__name__, [(key, plain(part)) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(part) for part in value]
    return type(value).__name__, value


def ids(batches):
    """The samples' numbers in batches of Numbers, batch by batch."""
    return [batch[0].tolist() for batch in batches]

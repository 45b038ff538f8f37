"""Python datasets that Penstock reads itself: torchvision's ImageFolder, MNIST, CIFAR10 and CIFAR100, if it would give the
same samples.

`native="auto"` uses that where nothing differs but the random draws of crops and flips, and says so once; "never" does
not; "require" raises the reason why not.
"""
import inspect
import os
import weakref

from .. import _settings, _torchvision, transforms
from .._say import say_once
from ..errors import Error, FailedPrecondition, InvalidArgument
from .._torch_attributes import explain
from ..torch import DataLoader
from . import joint, planned, plans
from .arguments import PREFETCH
from .snapshot import Snapshot

# Arguments that only Python workers can heed.
_ONLY_PYTHON = ("batch_sampler", "collate_fn", "worker_init_fn", "multiprocessing_context", "transform", "views", "targets", "key",
                "max_batch_bytes")


# Of datasets whose samples are the daemon's: the digest of those.
_DIGESTS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def is_chosen(dataset, arguments, keywords):
    given = inspect.signature(DataLoader.__init__).bind(None, dataset, *arguments, **keywords).arguments
    choice = _settings.one_of(given.get("native", "auto"), ("auto", "never", "require"), "native")
    if choice == "never" or (choice == "auto" and not given.get("num_workers")):
        return False
    try:
        reason = _why_not(dataset, given)
    except (Error, OSError) as error:
        reason = str(error)
    if reason is None:
        say_once(f"{type(dataset).__name__}: Penstock reads and transforms the files itself (native='never' has Python "
                 "do it)")
        return True
    kind = joint.kind_of(dataset) or _kind_of(dataset)
    if choice == "auto" and kind is not None:
        say_once(f"{kind}: Python makes its batches: {reason}")
    if choice == "require":
        raise InvalidArgument(f"native is 'require', but Penstock cannot read this {type(dataset).__name__} as Python "
                              f"does: {reason}; leave native out, and workers in Python make its batches")
    return False


def _checks():
    return {"ImageFolder": _folder, "MNIST": _mnist, "CIFAR10": _cifar, "CIFAR100": _cifar}


def _kind_of(dataset):
    """The name of a dataset's class that Penstock may read itself; None for others."""
    kind = type(dataset)
    return kind.__name__ if kind.__name__ in _checks() and kind.__module__.startswith("torchvision.datasets") else None


def _why_not(dataset, given):
    """Why the native path would differ; None if it would not."""
    if joint.kind_of(dataset) is not None:
        return joint.why_not(dataset)
    for name in _ONLY_PYTHON:
        if given.get(name) is not None:
            return f"{name} is given"
    if given.get("batch_size", 1) is None:
        return "batch_size is None"
    check = _checks().get(_kind_of(dataset))
    if check is None:
        return "it is neither torchvision's ImageFolder nor its MNIST, CIFAR10 or CIFAR100"
    if dataset.target_transform is not None:
        return "it has a target_transform"
    both = dataset.transforms
    if type(both).__name__ != "StandardTransform" or both.transform is not dataset.transform:
        return "its transforms were changed"
    if _torchvision.read(dataset.transform)[1] is None:
        return "its transform gives no tensor"
    return check(dataset, given, transforms.plan_of(dataset.transform))


def _folder(dataset, given, plan):
    from torchvision import get_image_backend
    from torchvision.datasets import folder
    if dataset.loader is not folder.default_loader or get_image_backend() != "PIL":
        return "its loader is not torchvision's own with Pillow"
    if dataset.extensions != folder.IMG_EXTENSIONS:
        return "it chooses files by is_valid_file"
    if not plan.has_geometry:
        return "its transform gives images of different sizes"
    found = _described(_path_of(dataset), dataset, given)
    if list(found.classes) != list(dataset.classes) or len(found) != len(dataset.samples):
        return f"Penstock finds {len(found)} samples of {len(found.classes)} classes there"
    for (path, label), (own, own_label) in zip(found.samples, dataset.samples):
        if os.path.abspath(own) != path or label != own_label:
            return f"Penstock finds {path} of class {label} where it has {own} of class {own_label}"
    return None


def images_of(dataset):
    """The file of MNIST's images."""
    return os.path.join(dataset.raw_folder, f"{'train' if dataset.train else 't10k'}-images-idx3-ubyte")


def _mnist(dataset, given, plan):
    if plan.gray:
        return "its transform makes gray images of gray ones"
    if plan.makes_three_channels:
        return "its transform makes three channels of one"
    with open(images_of(dataset), "rb") as file:
        same = file.read()[16:] == dataset.data.numpy().tobytes()
    if not same:
        return f"its data is not that of {images_of(dataset)}"
    found = _described(_path_of(dataset), dataset, given)
    if found.targets != dataset.targets.tolist():
        return "its targets are not those of its file"
    return None


def _cifar(dataset, given, plan):
    stored = type(dataset)(dataset.root, train=dataset.train)
    if stored.data.tobytes() != dataset.data.tobytes() or stored.targets != list(dataset.targets):
        return "its data is not that of its files"
    found = _described(_path_of(dataset), dataset, given)
    if found.targets != stored.targets or list(found.classes) != list(stored.classes):
        return "its targets are not those of its files"
    return None


def _path_of(dataset):
    """What a loader of names and paths takes for it."""
    kind = type(dataset).__name__
    if kind.startswith("CIFAR"):
        folder = os.path.abspath(os.path.join(dataset.root, dataset.base_folder))
        return f"cifar:{folder},split={'train' if dataset.train else 'test'}"
    return os.path.abspath(dataset.root if kind == "ImageFolder" else images_of(dataset))


def _described(path, dataset, given):
    """The dataset as the daemon sees it."""
    found = DataLoader(path, transform=dataset.transform, address=given.get("address", "")).dataset
    _DIGESTS[dataset] = found._digest
    return found


def _told(name):
    return property(lambda self: self._told[name], lambda self, value: explain(**{name: value}))


class NativeLoader(DataLoader):
    """A loader over such a dataset: batches are [images, labels], as torch collates them."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, *arguments,
                 prefetch_factor=None, on_error="raise", native="auto", key=None, max_batch_bytes=None, **keywords):
        given = inspect.signature(DataLoader.__init__).bind(None, dataset, batch_size, shuffle, sampler, None,
                                                            num_workers, *arguments, **keywords).arguments
        told = dict(num_workers=num_workers, prefetch_factor=prefetch_factor, pin_memory=given.get("pin_memory", False),
                    persistent_workers=given.get("persistent_workers", False))
        for name in ("self", "dataset", "fail_on_bad_sample", "num_workers", "persistent_workers", *_ONLY_PYTHON):
            given.pop(name, None)  # the daemon's own workers decode
        _settings.one_of(on_error, ("raise", "replace"), "on_error")
        prefetch = PREFETCH if prefetch_factor is None else _settings.positive(prefetch_factor, "prefetch_factor")
        super().__init__(_path_of(dataset), transform=dataset.transform, fail_on_bad_sample=on_error == "raise",
                         prefetch_factor=min(_settings.MAX_WINDOW, max(2, num_workers * prefetch)), **given)
        self._given_dataset, self._told = dataset, told
        self._snapshot, self._checked_digest = Snapshot(dataset), _DIGESTS.get(dataset)

    def __iter__(self):
        changed = self._snapshot.difference(self._given_dataset)
        if changed is not None:
            raise FailedPrecondition(f"{changed!r} of the {type(self._given_dataset).__name__} was changed after this loader was made, and "
                                     "Penstock reads and transforms the files itself; make a new loader, or give native='never', and "
                                     "workers in Python see the dataset as it is then")
        return super().__iter__()

    def _change_to(self, session):
        """The samples are those of the program's object, whatever has happened to their files in the meantime."""
        if session.dataset_digest != self._checked_digest:
            dataset = self._given_dataset
            given = {"address": self._settings.address}
            reason = _checks()[_kind_of(dataset)](dataset, given, transforms.plan_of(dataset.transform))
            if reason is not None:
                return reason
            self._checked_digest = _DIGESTS[dataset]
        return None

    @property
    def dataset(self):
        """What the program gave."""
        return self._given_dataset

    # A torch DataLoader that a framework makes of these attributes gives the same samples in the same order.

    num_workers = _told("num_workers")
    pin_memory = _told("pin_memory")
    persistent_workers = _told("persistent_workers")
    prefetch_factor = _told("prefetch_factor")

    @property
    def collate_fn(self):
        from torch.utils.data import default_collate
        return default_collate

    @collate_fn.setter
    def collate_fn(self, function):
        if function not in (None, self.collate_fn):
            raise InvalidArgument("collate_fn cannot be set, because Penstock reads this dataset itself and makes whole "
                                  "batches; give collate_fn= to the loader, or native='never'")

    @property
    def sampler(self):
        return planned.sampler_of(self) if self._given_sampler is None else self._given_sampler

    @property
    def batch_sampler(self):
        return planned.Batches(self, self.sampler)

    def _order_now(self):
        count = len(self.dataset)
        if self._given_sampler is None:
            return plans.OwnOrder(self._settings, count)
        return plans.DrawnOrder(self._settings, self._given_sampler, count, self.batch_size, None, False)

    def _give(self, batch):
        return [batch["image"], batch["label"]]

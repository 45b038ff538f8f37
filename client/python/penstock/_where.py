"""Interprets the argument that names a dataset: a configured name, a path, or a description ("tokens:...")."""
import os
import re
from typing import NamedTuple
from urllib.parse import unquote

from .errors import InvalidArgument

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_STORES = ("s3", "gs", "https", "http")  # the daemon reads them
_KINDS = ("cifar", "coco", "folder", "list", "npy", "pairs", "synthetic", "tokens", "voc", "yolo")  # of descriptions
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")  # as in the configuration


class Where(NamedTuple):
    dataset: str  # a name, an absolute path, a URL, or a description
    beside: str = ""  # an existing path of this name, for use if no such dataset is configured


def is_text(dataset):
    """Whether it describes what to read: "tokens:/data/train.bin,length=1024"."""
    return isinstance(dataset, str) and dataset.partition(":")[0] in _KINDS


def is_path(dataset):
    """Whether a dataset as `where_of` returned it names files."""
    return "/" in dataset


def where_of(dataset):
    if isinstance(dataset, os.PathLike) and isinstance(os.fspath(dataset), str):
        return Where(_absolute(os.fspath(dataset)))
    if not isinstance(dataset, str) or not dataset:
        raise InvalidArgument(f"the dataset is {type(dataset).__name__} {dataset!r:.80}; Penstock reads the files itself, "
                              f"so pass a dataset's name or its path{_hint(dataset)}")
    if is_text(dataset):
        return Where(dataset)
    if _URL.fullmatch(dataset):
        return Where(_of_url(dataset))
    if "/" in dataset or dataset[0] == "~" or not _NAME.fullmatch(dataset):
        return Where(_absolute(dataset))
    return Where(dataset, os.path.abspath(dataset) if os.path.lexists(dataset) else "")


def _absolute(path):
    return os.path.abspath(os.path.expanduser(path))


def _of_url(url):
    scheme, rest = _URL.fullmatch(url).groups()
    if scheme.lower() in _STORES:
        if scheme.lower() in ("http", "https") and ("?" in rest or "@" in rest.partition("/")[0]):
            raise InvalidArgument(f"the dataset is a {scheme.lower()} URL with a query or a password, which may be a secret, and "
                                  "names of datasets are logged; use s3:// with keys, or a URL without them")
        return f"{scheme.lower()}://{rest}"
    if scheme.lower() != "file":
        raise InvalidArgument(f"the dataset is {url!r}, but Penstock reads files of this machine, and of stores by s3://, gs://, "
                              "https:// and http://; copy what is there to a disk, or mount it, and pass that path")
    host, slash, path = rest.partition("/")
    if not slash or host not in ("", "localhost"):
        raise InvalidArgument(f"the dataset is {url!r}; a file URL has three slashes and an absolute path: "
                              "file:///data/train")
    return _absolute("/" + unquote(path))


def _hint(dataset):
    if isinstance(getattr(dataset, "root", None), (str, os.PathLike)):
        return f"; for this {type(dataset).__name__}: {os.fspath(dataset.root)!r}"
    return ""

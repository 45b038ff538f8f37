"""The same photographs in the formats of all loaders."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from stores import datasets  # noqa: E402

SHARD_SAMPLES = 125  # so that shards divide well among few workers


def make(folder, samples):
    """Writes FOLDER/tar and FOLDER/mds; returns the bytes of all photographs."""
    from streaming import MDSWriter
    folder = pathlib.Path(folder)
    datasets.tar_shards(folder / "tar", samples, SHARD_SAMPLES)
    size = 0
    with MDSWriter(out=str(folder / "mds"), columns={"image": "bytes", "label": "int"}, size_limit="12mb") as out:
        for _, jpeg, label in datasets.numbered(samples):
            out.write({"image": jpeg, "label": label})
            size += len(jpeg)
    return size


def shards(samples):
    return [f"{number:06d}.tar" for number in range((samples + SHARD_SAMPLES - 1) // SHARD_SAMPLES)]

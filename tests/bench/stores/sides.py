"""One loader, in a process of its own: sides.py LOADER SAMPLES WORKERS BATCH FOLDER CONNECTIONS. Takes an epoch from the
bucket `photos` of $AWS_ENDPOINT_URL and prints {"first": s, "seconds": s, "samples": n} as JSON: the time to the first
batch, and that of the epoch after it began. FOLDER is empty and is removed afterwards."""
import json
import os
import sys
import tarfile
import time

import curl_reads
import data

REGION = os.environ["AWS_REGION"]
ENDPOINT = os.environ["AWS_ENDPOINT_URL"]


def timed(begun, batches, size):
    """Takes all batches. `begun`: before the loader was made."""
    first, samples = None, 0
    for batch in batches:
        if first is None:
            first = time.monotonic() - begun
        samples += size(batch)
    return {"first": first, "seconds": time.monotonic() - begun, "samples": samples}


def torch_batches(dataset, workers, batch):
    import torch
    return torch.utils.data.DataLoader(dataset, batch_size=batch, num_workers=workers, persistent_workers=False)


def penstock(samples, workers, batch, folder):
    """The first opening makes the index; the epoch is timed apart from it, as a second loader's."""
    import penstock
    os.environ["XDG_RUNTIME_DIR"] = folder
    os.chmod(folder, 0o700)
    url = f"s3://photos/tar/{{000000..{len(data.shards(samples)) - 1:06d}}}.tar"

    def load(seed):
        return penstock.Loader(url, batch_size=batch, shuffle=True, seed=seed, last_batch="partial", timeout=600,
                               transform=[penstock.RandomResizedCrop(224), penstock.HorizontalFlip()])

    begun = time.monotonic()
    with load(1) as indexing:
        next(iter(indexing))
    opening = time.monotonic() - begun
    with load(2) as loader:
        found = timed(time.monotonic(), loader, lambda each: each.valid_rows)
    return {**found, "opening": opening}


def streaming(samples, workers, batch, folder):
    import crops
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    class Photographs(StreamingDataset):
        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return crops.crop(sample["image"]), sample["label"]

    clean_stale_shared_memory()  # of a run that was ended: its state would be believed
    begun = time.monotonic()
    dataset = Photographs(remote="s3://photos/mds", local=os.path.join(folder, "local"), shuffle=True, batch_size=batch)
    return timed(begun, torch_batches(dataset, workers, batch), lambda each: len(each[1]))


def webdataset(samples, workers, batch, folder):
    import crops
    import webdataset as wds
    key, secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    urls = [f"pipe:curl -sfS --aws-sigv4 aws:amz:{REGION}:s3 --user {key}:{secret} -H '{curl_reads.PAYLOAD}' {ENDPOINT}/photos/tar/{name}"
            for name in data.shards(samples)]
    begun = time.monotonic()
    dataset = (wds.WebDataset(urls, shardshuffle=100, nodesplitter=None, workersplitter=wds.split_by_worker, empty_check=False)
               .shuffle(1000).to_tuple("jpg", "cls").map_tuple(crops.crop, int))
    loader = wds.WebLoader(dataset, batch_size=batch, num_workers=workers)
    return timed(begun, loader, lambda each: len(each[1]))


def s3torchconnector(samples, workers, batch, folder):
    import random

    import crops
    import torch
    from s3torchconnector import S3ClientConfig, S3IterableDataset, S3ReaderConstructor

    class Photographs(torch.utils.data.IterableDataset):
        def __init__(self):
            self.shards = S3IterableDataset.from_prefix(
                "s3://photos/tar/", region=REGION, endpoint=ENDPOINT, enable_sharding=True,
                s3client_config=S3ClientConfig(force_path_style=True), reader_constructor=S3ReaderConstructor.sequential())

        def read(self):
            for shard in self.shards:
                sample = {}
                with tarfile.open(fileobj=shard, mode="r|") as members:
                    for member in members:
                        key, kind = member.name.split(".", 1)
                        if sample.get("key") != key:
                            sample = {"key": key}
                        sample[kind] = members.extractfile(member).read()
                        if "jpg" in sample and "cls" in sample and kind in ("jpg", "cls"):
                            yield sample["jpg"], int(sample["cls"])

        def __iter__(self):
            buffer = []
            for sample in self.read():
                buffer.append(sample)
                if len(buffer) >= 1000:
                    jpeg, label = buffer.pop(random.randrange(len(buffer)))
                    yield crops.crop(jpeg), label
            random.shuffle(buffer)
            for jpeg, label in buffer:
                yield crops.crop(jpeg), label

    begun = time.monotonic()
    return timed(begun, torch_batches(Photographs(), workers, batch), lambda each: len(each[1]))


def curl(samples, workers, batch, folder, connections):
    seconds, _ = curl_reads.read(os.environ["PENSTOCK_BENCH_RANGES"], folder, connections, os.environ)
    return {"first": 0.0, "seconds": seconds, "samples": samples}


def main():
    name, samples, workers, batch, folder, connections = sys.argv[1:]
    arguments = [int(samples), int(workers), int(batch), folder]
    if name == "curl":
        arguments.append(int(connections))
    found = globals()[name](*arguments)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

"""One measurement in a process of its own: python -m penstock.bench.side torch|penstock|idle JSON."""
import contextlib
import json
import os
import signal
import sys
import time

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def memory_bytes():
    """Memory of this process and all its descendants; a shared page counts by each process's share."""
    return sum(_pss(pid) for pid in _family(os.getpid()))


def _family(root):
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it has ended
    family = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        if not more:
            return family
        family |= more


def _pss(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return _rss(pid)


def _rss(pid):
    """Resident memory, which is at least the share. Only root may see the shares of a daemon and its workers."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0  # it has ended


def torch_loader(asked):
    """The usual loader: ImageFolder, torchvision's transforms or the same with Pillow, worker processes."""
    import torch
    from . import folder
    dataset, pipeline = folder.dataset(asked["data"], asked["size"], MEAN, STD)
    # Long epochs, so that their ends do not matter.
    sampler = torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=10**7)
    loader = torch.utils.data.DataLoader(dataset, batch_size=asked["batch_size"], sampler=sampler, drop_last=True,
                                         num_workers=asked["workers"], pin_memory=asked["device"] != "cpu",
                                         persistent_workers=True)
    device = torch.device(asked["device"])
    batches = ((image.to(device, non_blocking=True), label.to(device, non_blocking=True)) for image, label in loader)
    return batches, pipeline, lambda: _family(os.getpid())


def penstock_loader(asked):
    import penstock
    import penstock.torch
    loader = penstock.torch.DataLoader(
        "photographs", batch_size=asked["batch_size"], shuffle=True, drop_last=True, device=asked["device"],
        address=asked["address"],
        transform=[penstock.RandomResizedCrop(asked["size"]), penstock.HorizontalFlip(), penstock.Normalize(MEAN, STD)])

    def batches():
        while True:
            for batch in loader:
                yield batch["image"], batch["label"]

    return batches(), "Penstock", lambda: _family(os.getpid()) | _family(asked["daemon"])


def measure(batches, asked, family):
    import torch
    on_gpu = asked["device"] != "cpu"
    warm = max(4, 256 // asked["batch_size"])
    for _ in range(warm):
        image, _ = next(batches)
    if on_gpu:
        torch.cuda.synchronize()
    count, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < asked["seconds"]:
        image, _ = next(batches)
        count += len(image)
    if on_gpu:
        torch.cuda.synchronize()
        elapsed = time.perf_counter() - begin
    return count / elapsed, sum(map(_pss, family()))


def main():
    side, asked = sys.argv[1], json.loads(sys.argv[2])
    if side == "idle":
        import torch
        image = torch.zeros(asked["batch_size"], 3, asked["size"], asked["size"], device=asked["device"])
        print(json.dumps({"memory_bytes": memory_bytes(), "sum": float(image.sum())}))
        return
    batches, pipeline, family = {"torch": torch_loader, "penstock": penstock_loader}[side](asked)
    images_per_second, memory = measure(batches, asked, family)
    print(json.dumps({"images_per_second": images_per_second, "memory_bytes": memory, "pipeline": pipeline}))
    sys.stdout.flush()
    _end_workers()
    os._exit(0)


def _end_workers():
    """Kills the workers at once; otherwise they would continue with their queue during the next measurement."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler would report the kills as failures
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch's threads would, too
    workers = _family(os.getpid()) - {os.getpid()}
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):  # it has already ended
            os.kill(pid, signal.SIGKILL)
    for pid in workers:
        with contextlib.suppress(ChildProcessError):  # a worker's own child
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()

"""Penstock alone, in a process of its own: limits_side.py SOURCE FOLDER EPOCHS. Takes epochs of SOURCE with a private daemon
in FOLDER, and prints JSON: seconds to the first batch of the first opening, and of each epoch its seconds, its samples and
the processor time of the daemon, without its workers."""
import json
import os
import pathlib
import sys
import time

import penstock

TICKS = os.sysconf("SC_CLK_TCK")


def daemon(folder):
    """The process id of the private daemon in the folder."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if words[0].endswith(b"penstockd") and any(word.startswith(folder.encode()) for word in words[1:]):
            return int(process.name)
    raise RuntimeError(f"no private daemon in {folder}")


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main():
    source, folder, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.environ["XDG_RUNTIME_DIR"] = folder
    os.chmod(folder, 0o700)
    crop = [penstock.RandomResizedCrop(224), penstock.HorizontalFlip()]
    begun = time.monotonic()
    with penstock.Loader(source, batch_size=64, shuffle=True, seed=1, timeout=600, transform=crop) as opening:
        next(iter(opening))
    found = {"opening": time.monotonic() - begun, "epochs": []}
    process = daemon(folder)
    with penstock.Loader(source, batch_size=64, shuffle=True, seed=2, timeout=600, last_batch="partial",
                         transform=crop) as loader:
        for _ in range(epochs):
            begun, before, samples, first = time.monotonic(), cpu_seconds(process), 0, None
            for batch in loader:
                first = first or time.monotonic() - begun
                samples += batch.valid_rows
            found["epochs"].append({"first": first, "seconds": time.monotonic() - begun, "samples": samples,
                                    "cpu": cpu_seconds(process) - before})
            print("epoch", file=sys.stderr, flush=True)
            sys.stdin.readline()  # the caller reads the store's counts in between
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

"""CPU time of an image that the GPU's engines decode, by process: trainer, daemon, workers.

    python3 tests/bench/engines/cpu.py --data DIR [--workers 1]

Of files that the engines take, after their first epoch, as fast as they come. Beside it: the same photographs decoded by the
workers, by as many as there are cores but one; and nvJPEG's calls alone, the trainer's part at least.
"""
import contextlib
import os
import time

import nvjpeg_calls
import setting
import torch

from penstock.bench.side import _family
from penstock.bench.usage import _cpu


def used(served):
    """CPU seconds so far: (trainer's, daemon's, workers')."""
    workers = _family(served["daemon"]) - {served["daemon"]}
    return _cpu(os.getpid()), _cpu(served["daemon"]), sum(map(_cpu, workers))


def row(name, asked, **more):
    with setting.served(asked, engines_alone=True) as served, \
            contextlib.closing(setting.loader(served, asked, **more)) as loader:
        batches = setting.forever(loader)
        for _ in range(len(loader) + 8):
            next(batches)
        before = used(served)
        count, seconds = setting.taken_in(batches, asked.seconds)
        images = count * asked.batch_size
        each = [(after - used_before) / images * 1e3 for after, used_before in zip(used(served), before)]
    print(f"| {name}, {asked.workers} workers | {images / seconds:,.0f} | {sum(each):.3f} | "
          + " | ".join(f"{part:.3f}" for part in each) + " |", flush=True)
    return sum(each)


def calls_alone(asked):
    """CPU time of an image in ms of nvJPEG's calls, which spin while the engines work."""
    calls = nvjpeg_calls.NvjpegCalls(asked.data)
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(nvjpeg_calls.CALLS):
            calls.take()
        begin, cpu, images = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - begin < asked.seconds:
            images += calls.take()
        seconds, each = time.perf_counter() - begin, (time.process_time() - cpu) / images * 1e3
    print(f"| nvJPEG's calls alone, in calls of 64 | {images / seconds:,.0f} | {each:.3f} | {each:.3f} | 0.000 | 0.000 |", flush=True)


def main():
    parser = setting.parser(__doc__.splitlines()[0])
    parser.set_defaults(workers=1)
    asked = parser.parse_args()
    print(setting.machine_line() + "\n\n| decoded by | images/s | ms an image | trainer | daemon | workers |\n|---|---|---|---|---|---|")
    engines = row("the engines", asked, decode="gpu")
    calls_alone(asked)
    asked.workers = max(1, len(os.sched_getaffinity(0)) - 1)
    workers = row("workers", asked)
    print(f"\nengines, of workers: {engines / workers:.3f}; on {time.strftime('%Y-%m-%d')}")


if __name__ == "__main__":
    main()

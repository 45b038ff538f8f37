"""What decoding on the GPU costs a training loop: ResNet-50 on synthetic batches, alone and beside a loader that nobody trains on.

    python3 tests/bench/engines/beside.py --data DIR [--rate 8900 10000] [--share 1 0.75] [--peer]

The loader's batches are taken at a rate that is kept to. It has run for some seconds before anything is
measured, so that it neither starts late nor catches up. With --peer nvJPEG's calls alone are held at the first rate, and
torchvision's `decode_jpeg` decodes as fast as it can; both from memory, without cropping and resizing.
"""
import argparse
import contextlib
import statistics
import threading
import time

import nvjpeg_calls
import setting
import torch

RUN_IN_SECONDS = 2.5
LATE_SECONDS = 0.25  # is not caught up on
GOAL = 0.965


class Beside(threading.Thread):
    """Calls `take`, which makes as many images as it returns, `rate` images a second, on a stream of its own."""

    def __init__(self, take, rate):
        super().__init__(daemon=True)
        self.images = 0
        self._take, self._rate, self._ended = take, rate, threading.Event()
        self._stream = torch.cuda.Stream()
        self.error = None

    def run(self):
        due = time.perf_counter()
        try:
            with torch.cuda.stream(self._stream):
                while not self._ended.is_set():
                    made = self._take()
                    self.images += made
                    due = max(due + made / self._rate, time.perf_counter() - LATE_SECONDS)
                    time.sleep(max(0.0, due - time.perf_counter()))
        except Exception as error:  # the training loop reports it
            self.error = error

    def end(self):
        self._ended.set()
        self.join()
        if self.error:
            raise self.error


def of_loader(loader):
    batches = setting.forever(loader)

    def take():
        batch = next(batches)
        return len(batch["label"])

    return take


def of_torchvision(asked):
    from torchvision.io import decode_jpeg
    files = [torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
             for path in setting.photographs(asked.data, engines_alone=False)]
    at = 0

    def take(count=64):
        nonlocal at
        decode_jpeg([files[(at + i) % len(files)] for i in range(count)], device="cuda")
        at += count
        return count

    return take


def measured(training, take, rate, seconds):
    """(the training's images/s, the decoded images/s)"""
    beside = Beside(take, rate)
    beside.start()
    try:
        training.rate(RUN_IN_SECONDS)
        images, begin = beside.images, time.perf_counter()
        trained = training.rate(seconds)
        return trained, (beside.images - images) / (time.perf_counter() - begin)
    finally:
        beside.end()


def row(name, training, take, rate, asked):
    ratios, decoded = [], []
    before = training.rate(asked.seconds)
    for _ in range(asked.rounds):
        trained, images = measured(training, take, rate, asked.seconds)
        after = training.rate(asked.seconds)
        ratios.append(2 * trained / (before + after))
        decoded.append(images)
        before = after
    ratio, images = statistics.median(ratios), statistics.median(decoded)
    cost = (1 - ratio) / images
    most = f"{(1 - GOAL) / cost:,.0f}" if cost > 0 else "any"
    each = ", ".join(f"{one:.3f}" for one in ratios)
    print(f"| {name} | {images:,.0f} | {ratio:.3f} ({each}) | {cost * 1e6:.2f} | {most} |", flush=True)


def main():
    parser = setting.parser(__doc__.splitlines()[0])
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rate", type=float, nargs="+", default=[8900.0, 10000.0], help="images/s")
    parser.add_argument("--share", type=float, nargs="+", default=[1.0], help="of the samples, on the engines")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", choices=("bfloat16", "uint8"), default="bfloat16", help="of the loader's batches")
    parser.add_argument("--priority", type=int, default=0, help="of the stream that trains: negative is higher")
    parser.add_argument("--peer", action="store_true", help="nvJPEG's calls alone and torchvision's decoder, too")
    asked = parser.parse_args()
    with setting.served(asked) as served:
        training = setting.Training("resnet50", priority=asked.priority)
        training.rate(asked.seconds)  # algorithms are chosen
        print(f"{setting.machine_line()}; ResNet-50 alone {training.rate(asked.seconds):,.0f} images/s\n")
        print(f"| beside ResNet-50 | images/s | of its speed (rounds) | µs an image | images/s at {GOAL} |\n|---|---|---|---|---|")
        for share in asked.share:
            with contextlib.closing(setting.loader(served, asked, asked.dtype, decode="gpu", gpu_share=share)) as loader:
                ours = of_loader(loader)
                for _ in range(len(loader)):  # the first epoch reads each scan to its end
                    ours()
                for rate in asked.rate:
                    row(f"a loader held at {rate:,.0f}, {share:g} on the engines", training, ours, rate, asked)
        if asked.peer:
            calls = nvjpeg_calls.NvjpegCalls(asked.data)
            for _ in range(nvjpeg_calls.CALLS):  # its memory is there before it is measured
                calls.take()
            row("nvJPEG's calls alone", training, calls.take, asked.rate[0], asked)
            row("torchvision's decode_jpeg", training, of_torchvision(asked), 1e9, asked)


if __name__ == "__main__":
    main()

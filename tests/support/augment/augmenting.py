"""Runs penstock-augment-image, for tests that compare with Pillow. tests/support/augment/augment_image.cc describes
requests and answers."""
import math
import random
import subprocess
import time

from PIL import Image


class Program:
    """The running program. `rounds`: how often it applies each operation; it reports the shortest time."""

    def __init__(self, path, rounds=1):
        self.process = subprocess.Popen([path, str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def apply(self, operation, image, *parameters):
        """Returns the changed image, and the time in seconds."""
        channels = len(image.getbands())
        line = " ".join([operation, str(image.width), str(image.height), str(channels), *map(repr, parameters)])
        self.process.stdin.write(line.encode() + b"\n" + image.tobytes())
        self.process.stdin.flush()
        width, height, channels, nanoseconds = map(int, self._line(line).split())
        data = self.process.stdout.read(width * height * channels)
        return Image.frombytes("RGB" if channels == 3 else "L", (width, height), data), nanoseconds / 1e9

    def _line(self, request):
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"penstock-augment-image ended at the request '{request}'")
        return line


def noise(rng, mode, size):
    return Image.frombytes(mode, size, rng.randbytes(size[0] * size[1] * len(mode)))


def edge_cases(seed=7):
    """Yields (name, image): the smallest sizes, single rows and columns, odd sizes, few values, gray."""
    rng = random.Random(seed)
    for mode in ("RGB", "L"):
        for size in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 3), (1, 97), (131, 1), (2, 40), (3, 17), (37, 3), (64, 5),
                     (255, 3), (257, 19)):
            yield f"{mode} noise {size[0]}x{size[1]}", noise(rng, mode, size)
        for value in (0, 1, 77, 255):
            yield f"{mode} of {value}", Image.new(mode, (33, 21), (value,) * len(mode))
        few = bytes(rng.choice((0, 1, 254, 255)) for _ in range(48 * 31 * len(mode)))
        yield f"{mode} of four values", Image.frombytes(mode, (48, 31), few)
        narrow = bytes(rng.randrange(100, 120) for _ in range(48 * 31 * len(mode)))
        yield f"{mode} of little contrast", Image.frombytes(mode, (48, 31), narrow)
    gradient = bytes(value for i in range(256) for value in (i, 255 - i, i * 7 % 256))
    yield "gradient", Image.frombytes("RGB", (16, 16), gradient)
    yield "grays in RGB", noise(rng, "L", (30, 30)).convert("RGB")


def difference(found, wanted):
    """Describes how two images differ, or returns None."""
    if (found.size, found.mode) != (wanted.size, wanted.mode):
        return f"{found.size} {found.mode} instead of {wanted.size} {wanted.mode}"
    pairs = [(a, b) for a, b in zip(found.tobytes(), wanted.tobytes()) if a != b]
    if not pairs:
        return None
    most = max(abs(a - b) for a, b in pairs)
    return f"{len(pairs)} of {len(found.tobytes())} bytes differ, by up to {most}, for example {pairs[0]}"


MOST_TRIES = 8


def compared(ours, theirs, limit):
    """Returns the shortest times of both sides, in seconds. `ours` returns the shortest of some rounds; `theirs` is called
    as often. While theirs is less than `limit` times ours, both are measured again, up to MOST_TRIES times: a busy machine
    slows one side alone."""
    here = there = math.inf
    for _ in range(MOST_TRIES):
        here, there = min(here, ours()), min(there, shortest_time(theirs, rounds=30))
        if there >= limit * here:
            break
    return here, there


def shortest_time(call, rounds):
    """Returns the shortest of the times that a call takes, in seconds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)

"""One measurement in a process of its own: python -m penstock.bench.dali_side dali|penstock JSON."""
import json
import os
import sys
import time

from .side import MEAN, STD
from .usage import cpu_seconds_of

WARM_UP_SECONDS = 2


def dali_batches(asked):
    """DALI's usual training pipeline, without a GPU. The triangular filter is Pillow's bilinear one, and Penstock's."""
    from nvidia.dali import fn, pipeline_def, types
    floats = asked["dtype"] == "float32"
    finish = ({"dtype": types.FLOAT, "output_layout": "CHW", "mean": [255 * m for m in MEAN], "std": [255 * s for s in STD]}
              if floats else {"dtype": types.UINT8, "output_layout": "HWC"})

    @pipeline_def(batch_size=asked["batch_size"], num_threads=asked["workers"], device_id=None)
    def pipeline():
        encoded, labels = fn.readers.file(file_root=asked["data"], random_shuffle=True)
        images = fn.decoders.image_random_crop(encoded, device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3])
        images = fn.resize(images, device="cpu", size=[asked["size"], asked["size"]], interp_type=types.INTERP_TRIANGULAR)
        return fn.crop_mirror_normalize(images, device="cpu", mirror=fn.random.coin_flip(), **finish), labels

    made = pipeline()
    made.build()
    while True:
        images, _ = made.run()
        yield images.as_tensor().shape()


def penstock_batches(asked):
    import penstock
    steps = [penstock.RandomResizedCrop(asked["size"]), penstock.HorizontalFlip()]
    floats = asked["dtype"] == "float32"
    loader = penstock.Loader("photographs", asked["batch_size"], shuffle=True, drop_last=True, address=asked["address"],
                             transform=[*steps, penstock.Normalize(MEAN, STD)] if floats else steps,
                             layout="NCHW" if floats else "NHWC")
    while True:
        for batch in loader:
            yield batch["image"].shape


def _count(batches, seconds):
    """(images, seconds)"""
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        count += next(batches)[0]
    return count, time.perf_counter() - begin


def main():
    side, asked = sys.argv[1], json.loads(sys.argv[2])
    batches = {"dali": dali_batches, "penstock": penstock_batches}[side](asked)
    roots = [os.getpid(), *([asked["daemon"]] if side == "penstock" else [])]
    _count(batches, min(WARM_UP_SECONDS, asked["seconds"]))
    before = cpu_seconds_of(roots)
    images, seconds = _count(batches, asked["seconds"])
    print(json.dumps({"cpu_ms_per_image": 1e3 * (cpu_seconds_of(roots) - before) / images, "images_per_second": images / seconds}))


if __name__ == "__main__":
    main()

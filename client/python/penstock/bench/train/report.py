"""What `bench --train` prints: each feed's images/s, and the ratio to synthetic batches with its limit."""
import subprocess

import torch

from .. import machine

# Of synthetic, for a process with one NVIDIA H200 and 16 cores.
LIMITS = {"resnet18": 0.97, "resnet50": 0.995}


def machine_of(ranks):
    found = machine.describe(("torch", "torchvision", "Pillow", "penstock"))
    if ranks.device.type == "cuda":
        found["gpu"], found["driver"] = torch.cuda.get_device_name(ranks.device), _driver()
    return found


def _driver():
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def show(report):
    where, limit = report["machine"], report["limit"]
    gpus = f"{where['gpu']}, driver {where['driver']}" if "gpu" in where else "no GPU"
    print(f"{gpus}; ranks: {report['ranks']}; {machine.in_words(where)}")
    print(f"{report['model']} ({report['model_source']}{', compiled' if report['compiled'] else ''}), bfloat16 autocast, "
          f"channels_last, SGD, crops of {report['size']}, batches of {report['batch_size']}")
    width = max(map(len, report["feeds"]))
    print(f"{'':{width}} {'images/s of each round':>30} {'median':>9} {'ratio':>6}  limit")
    for name, feed in report["feeds"].items():
        holds = "holds" if feed["ratio"] >= limit else "does not hold"
        each = " ".join(f"{rate:.5g}" for rate in feed["images_per_second"])
        print(f"{name:{width}} {each:>30} {feed['median']:9.5g} {feed['ratio']:6.3f}"
              + (f"  ≥ {limit} {holds}" if name.startswith("Penstock") else ""))
    print("The limit is for one H200 and 16 cores.")
    for name, stats in report["stats"].items():
        print(f"{name}: {stats['verdict']}")

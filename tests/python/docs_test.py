"""Runs every Python block in client/python's README.md and TRANSFORMS.md, in order, unchanged except for INSTEAD."""
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

import support

torch = support.need("torch")
support.need("torchvision")
numpy = support.need("numpy")
support.need("PIL")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "targets"))
import reference  # noqa: E402

TEXTS = [support.ROOT / "client/python" / name for name in ("README.md", "TRANSFORMS.md")]
# What the test replaces, and why.
INSTEAD = {
    "range(90)": "range(2)",  # two epochs show as much as ninety
}
if not torch.cuda.is_available():
    INSTEAD['device="cuda"'] = 'device="cpu"'  # no GPU here
    INSTEAD['decode="gpu"'] = 'decode="auto"'
    print('no GPU: device="cuda" is read as device="cpu"')

CONFIG = """
server: {{socket: {folder}/d/penstock.sock, group: "", state_dir: {folder}/state}}
pool: {{max: 1GiB}}
datasets:
  - name: imagenet-train
    folder: {folder}/photographs
  - name: imagenet-val
    folder: {folder}/photographs
  - name: tokens-train
    tokens: {{files: ["{folder}/tokens.bin"], length: 32}}
  - name: voc-train
    tfrecord: {{shards: ["{folder}/scenes.tfrecord"]}}
  - name: coco-train
    tfrecord: {{shards: ["{folder}/scenes.tfrecord"]}}
  - name: captions
    tar: {{shards: ["{folder}/captions.tar"]}}
"""


def write_tokens(path):
    numpy.arange(3_201, dtype="uint16").tofile(path)


def write_captions(path, photographs):
    """Writes a photograph, a caption and a vector per sample."""
    vector = io.BytesIO()
    numpy.save(vector, numpy.zeros(4, "float32"))
    with tarfile.open(path, "w") as shard:
        for sample, file in enumerate(sorted(pathlib.Path(photographs).glob("*/*.jpg"))[:16]):
            members = {"jpg": file.read_bytes(), "txt": f"photograph {sample}".encode(), "clip.npy": vector.getvalue()}
            for extension, content in members.items():
                member = tarfile.TarInfo(f"{sample:03d}.{extension}")
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))


def small_model(tokens):
    """Stands in for a language model: returns logits over a vocabulary for each token."""
    return torch.nn.functional.one_hot(tokens, 3_201).float()


def blocks():
    return [block for text in TEXTS for block in re.findall(r"```python\n(.*?)```", text.read_text(encoding="utf-8"), re.DOTALL)]


class DocsTest(unittest.TestCase):
    def test_every_block_runs(self):
        with tempfile.TemporaryDirectory(prefix="penstock-docs-") as folder:
            self.run_all(folder)

    def run_all(self, folder):
        subprocess.run([support.program("penstock-make-photographs"), folder + "/photographs", "--images", "520",
                        "--classes", "4"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        write_tokens(folder + "/tokens.bin")
        write_captions(folder + "/captions.tar", folder + "/photographs")
        reference.write_records(folder + "/scenes.tfrecord", [reference.Scene(number) for number in range(16)])
        with open(folder + "/penstock.yaml", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=folder))
        address = folder + "/d/penstock.sock"
        with open(folder + "/log", "wb") as log:
            daemon = subprocess.Popen([support.program("penstockd"), "--config", folder + "/penstock.yaml"], stderr=log)
        try:
            support.wait_until_serving(daemon, pathlib.Path(folder, "log"))
            os.environ["PENSTOCK_ADDRESS"] = address
            names = {"torch": torch, "checkpoint": {}, "model": small_model, "step": lambda image, label: None}
            for number, text in enumerate(blocks()):
                for there, here in INSTEAD.items():
                    text = text.replace(there, here)
                with self.subTest(block=number):
                    exec(compile(text, f"block {number}", "exec"), names)
        finally:
            daemon.terminate()
            daemon.wait()
        self.assertGreaterEqual(len(blocks()), 6)


if __name__ == "__main__":
    support.main()

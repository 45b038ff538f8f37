"""Pillow's part of `penstock-bench decode`, which runs this and writes to descriptor 3; answers go to descriptor 4.

Input: lines "x y width height flip path", then an empty line. Answer: "ready", or "missing" and the reason. After that,
each line asks for one run; the answer is its CPU time in seconds."""
import io
import os
import sys
import time

commands, answers = os.fdopen(3, errors="surrogateescape"), os.fdopen(4, "w", buffering=1)
WIDTH, HEIGHT = int(sys.argv[1]), int(sys.argv[2])
try:
    from PIL import Image
except ImportError as error:
    answers.write(f"missing {error}\n")
    sys.exit(0)

crops, files = [], {}
for line in iter(lambda: commands.readline().rstrip("\n"), ""):
    x, y, width, height, flip, path = line.split(" ", 5)
    x, y, width, height = int(x), int(y), int(width), int(height)
    if path not in files:
        with open(path, "rb") as file:
            files[path] = file.read()
    crops.append((files[path], (x, y, x + width, y + height), flip == "1"))


def row(data, box, flip):
    image = Image.open(io.BytesIO(data)).convert("RGB").crop(box).resize((WIDTH, HEIGHT), Image.BILINEAR)
    return image.transpose(Image.FLIP_LEFT_RIGHT) if flip else image


answers.write("ready\n")
for _ in commands:
    start = time.thread_time()
    for crop in crops:
        row(*crop)
    answers.write(f"{time.thread_time() - start:.9f}\n")

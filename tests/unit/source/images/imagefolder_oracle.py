#!/usr/bin/python3
"""Compares the order of penstock's `folder` source with torchvision's ImageFolder.

usage: imagefolder_oracle.py PRINT_PROGRAM [FOLDER...]

PRINT_PROGRAM FOLDER prints "<label> <path>", each ended by a zero byte. The functions below follow
torchvision.datasets.folder (find_classes, make_dataset) line by line. Without a FOLDER a dataset with
awkward names is made, and $PENSTOCK_TEST_DATA/imagenet-sample is compared if that is set.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def find_classes(directory):
    return sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())


def make_dataset(directory):
    instances = []
    for index, target_class in enumerate(find_classes(directory)):
        target_dir = os.path.join(directory, target_class)
        for root, _, fnames in sorted(os.walk(target_dir, followlinks=True)):
            for fname in sorted(fnames):
                if fname.lower().endswith(IMG_EXTENSIONS):
                    instances.append((os.path.join(root, fname), index))
    return instances


def penstocks(program, directory):
    out = subprocess.run([program, directory], check=True, stdout=subprocess.PIPE).stdout
    lines = [line.split(b" ", 1) for line in out.split(b"\0")[:-1]]
    return [(os.fsdecode(path), int(label)) for label, path in lines]


def compare(program, directory):
    directory = os.path.realpath(directory)
    wanted, got = make_dataset(directory), penstocks(program, directory)
    assert wanted, f"{directory} has no samples"
    for number, (want, have) in enumerate(zip(wanted, got)):
        assert want == have, f"sample {number}: wanted {want!r}, got {have!r}"
    assert len(wanted) == len(got), f"wanted {len(wanted)} samples, got {len(got)}"
    print(f"{os.fsencode(directory).decode(errors='replace')}: {len(wanted)} samples agree")


def make_awkward(directory):
    """Creates names with every kind of byte that could sort differently, at three depths, with links."""
    pieces = ["a", "A", "a b", "a-b", "a.b", "a0", "aa", "é", "\uff5e", "\U0001f600", "10", "9",
              ".a", "_", "~", "a\nb"]
    names = [piece.encode() for piece in pieces] + [b"\xff", b"\xc3A", b"\xe4"]
    root = os.fsencode(directory)
    for top in (piece.encode() for piece in pieces):
        for middle in names:
            folder = os.path.join(root, top, middle, b"deep")
            os.makedirs(folder)
            for place in (os.path.join(root, top), os.path.dirname(folder), folder):
                for suffix in (b".JPG", b".txt", b".webp"):
                    pathlib.Path(os.fsdecode(os.path.join(place, middle + suffix))).touch()
    os.symlink(b"a-b", os.path.join(root, b"link"))
    os.symlink(b"../aa/9", os.path.join(root, b"a", b"z"))
    os.symlink(b"a/a.JPG", os.path.join(root, b"a", b"zz.jpg"))
    pathlib.Path(directory, "beside.jpg").touch()


def main():
    program, folders = sys.argv[1], sys.argv[2:]
    for folder in folders:
        compare(program, folder)
    if folders:
        return
    with tempfile.TemporaryDirectory() as directory:
        make_awkward(directory)
        compare(program, directory)
    data = os.environ.get("PENSTOCK_TEST_DATA")
    if data:
        compare(program, os.path.join(data, "imagenet-sample"))
    else:
        print("SKIPPED: the order of real photographs: PENSTOCK_TEST_DATA is not set")


main()

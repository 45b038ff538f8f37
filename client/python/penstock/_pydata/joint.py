"""torchvision's datasets of masks and boxes, which Python makes, and how Penstock reads the same files itself.

What it would deliver differs from what they return, so that `native="auto"` leaves them to Python and says how to ask for it.
"""
import os

_DIFFERENCES = {
    "VOCSegmentation": "torchvision's v2 resizes a mask by other pixels than Pillow's nearest ones, which Penstock takes",
    "VOCDetection": "its targets are all of each XML file, and Penstock reads boxes and labels",
    "CocoDetection": "its targets are lists of annotations, or boxes that torchvision rounds with each step and does not drop",
}


def kind_of(dataset):
    """The name of such a dataset's class, also within wrap_dataset_for_transforms_v2; None for others."""
    for kind in type(dataset).__mro__:
        if kind.__name__ in _DIFFERENCES and kind.__module__.startswith("torchvision.datasets"):
            return kind.__name__
    return None


def why_not(dataset):
    """Why Penstock does not read it as Python does, and what to write instead; None for other datasets."""
    kind = kind_of(dataset)
    if kind is None:
        return None
    fields = 'fields=["mask"]' if kind == "VOCSegmentation" else 'fields={"boxes": 100, "labels": 100}, targets="list"'
    return f"{_DIFFERENCES[kind]}; DataLoader({_text_of(dataset, kind)!r}, {fields}, transform=…) has Penstock read the files"


def _text_of(dataset, kind):
    if kind == "CocoDetection":
        return f"coco:annotations=FILE.json,images={os.path.abspath(dataset.root)}"
    root = os.path.dirname(os.path.dirname(os.path.abspath(dataset.images[0])))
    return f"voc:{root},split={dataset.image_set}" + (",set=Segmentation" if kind == "VOCSegmentation" else "")

"""Draws masks, boxes and points over their images."""
from .. import _targets
from .._tensors import lengths_name

_MOST = 300  # boxes of an image, unless the program says it
_INKS = ((230, 25, 75), (60, 180, 75), (255, 200, 25), (0, 130, 200), (245, 130, 48), (145, 30, 180), (70, 240, 240), (240, 50, 230))
_UNKNOWN = 255  # what datasets call pixels of no class


def fields_for(dataset, given):
    """`given`, or what the dataset knows to follow its images, and can be drawn."""
    if given is not None:
        return given
    return {name: _MOST if dataset.fields[name][1][:1] == (None,) and kind != "mask" else None
            for name, kind in dataset.following.items() if kind != "with_boxes" or name in ("label", "labels")}


def _names_of(dataset):
    """{label of a box: its class's name}, where the dataset's kind says how they are numbered."""
    first = {"yolo": 0, "voc": 1}.get(dataset.kind)
    if dataset.kind == "coco" and "labels=contiguous" in dataset.name:
        first = 1
    return {} if first is None else dict(enumerate(dataset.classes, first))


class Over:
    """What a batch's rows have besides their images."""

    def __init__(self, loader, fields):
        self._kinds = _targets.kinds(fields, loader.dataset._targets)
        self._names = _names_of(loader.dataset)

    def images(self, images, batch):
        """The images of a batch, each with what it has drawn over it, and of its own size if it is on a canvas."""
        sizes = batch.get(_targets.IMAGE_SIZE)
        for row, image in enumerate(images):
            if sizes is not None:
                image = image[:sizes[row][0], :sizes[row][1]]
            yield self._draw(image, batch, row) if self._kinds else image

    def _draw(self, image, batch, row):
        import numpy
        from PIL import Image, ImageDraw
        values = {name: _values(batch, name, row) for name in self._kinds}
        of_kind = {kind: [values[name] for name, each in self._kinds.items() if each == kind] for kind in set(self._kinds.values())}
        picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).convert("RGB")
        for mask in of_kind.get("mask", ()):
            picture = _tinted(picture, mask[:picture.height, :picture.width])
        pen, labels = ImageDraw.Draw(picture), self._labels(values)
        for boxes in of_kind.get("boxes", ()):
            for place, box in enumerate(boxes.reshape(-1, 4).tolist()):
                label = labels[place] if labels is not None and place < len(labels) else None
                _draw_box(pen, box, label, self._text(label))
        for points in of_kind.get("points", ()):
            for x, y, *seen in points.reshape(-1, points.shape[-1]).tolist():
                if not seen or seen[0] > 0:
                    pen.ellipse((x - 1, y - 1, x + 1, y + 1), fill=_INKS[2], outline=_INKS[0])
        return numpy.asarray(picture)

    def _labels(self, values):
        """The whole numbers that belong to boxes."""
        found = [values[name] for name, kind in self._kinds.items() if kind == "with_boxes" and values[name].dtype.kind in "iu"]
        return found[0].tolist() if found and found[0].ndim == 1 else None

    def _text(self, label):
        return "" if label is None else self._names.get(label, str(label))


def _values(batch, name, row):
    lengths = batch.get(lengths_name(name))
    return batch[name][row] if lengths is None else batch[name][row][:lengths[row]]


def _ink(number):
    return _INKS[(number or 0) % len(_INKS)]


def _tinted(picture, mask):
    """Half of the image's color, half of the class's; 0 and 255 have none."""
    import numpy
    from PIL import Image
    inks = numpy.array([_ink(number) for number in range(256)], "uint8")
    image = numpy.array(picture)
    covered = (mask != 0) & (mask != _UNKNOWN)
    image[covered] = image[covered] // 2 + inks[mask.astype("uint8")][covered] // 2
    return Image.fromarray(image)


def _draw_box(pen, box, label, text):
    left, top, right, bottom = box
    pen.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), outline=_ink(label))
    if text:
        width = pen.textlength(text)
        pen.rectangle((left, top, left + width + 2, top + 10), fill=_ink(label))
        pen.text((left + 1, top - 1), text, fill=(255, 255, 255))

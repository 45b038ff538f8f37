"""python -m penstock show: a picture of what a loader delivers, to look at an augmentation before training with it."""
import sys

from .. import fields as kinds_of_fields
from .. import transforms
from ..errors import Error, InvalidArgument
from ..loader import Loader


def run(arguments):
    """The exit status. Pillow draws the picture."""
    try:
        if arguments.every:
            from .every import rows_of
            rows = rows_of(arguments)
        else:
            rows = batch_rows(arguments, transform_of(arguments.transform))
        from .grid import draw
        draw(rows, blocks=2 if arguments.every else 1).save(arguments.output)
    except ImportError as error:
        print(f"penstock: {error}; pip install pillow", file=sys.stderr)
        return 2
    except (Error, OSError, ValueError) as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 1
    print(f"wrote {arguments.output}")
    return 0


def transform_of(text):
    """The steps that a text names: "RandomResizedCrop(224), RandAugment()"."""
    names = {name: getattr(transforms, name) for name in transforms.__all__ if name[0].isupper()}
    try:
        found = eval(text, {"__builtins__": {}}, names)  # the text is the user's own program
    except Exception as error:
        raise InvalidArgument(f"--transform: {text!r}: {error}; give steps such as "
                              "'RandomResizedCrop(224), HorizontalFlip(), RandAugment()'") from None
    return list(found) if isinstance(found, (list, tuple)) else [found]


def fields_of_text(text):
    """The fields that a text names: "Boxes('boxes', max=50), Mask('mask')"; None without a text."""
    if not text:
        return None
    names = {name: getattr(kinds_of_fields, name) for name in ("Boxes", "Field", "Mask", "Points", "WithBoxes")}
    try:
        found = eval(text, {"__builtins__": {}}, names)  # the text is the user's own program
    except Exception as error:
        raise InvalidArgument(f"--fields: {text!r}: {error}; give fields such as \"Boxes('boxes', max=50), WithBoxes('labels', "
                              "max=50), Mask('mask')\"") from None
    return list(found) if isinstance(found, (list, tuple)) else [found]


def batch_rows(arguments, transform):
    """[(caption, images)] of one batch, or of one sample as often as there are cells."""
    from .over import Over, fields_for
    count = arguments.rows * arguments.columns
    where = dict(seed=arguments.seed, address=arguments.address, transform=transform, **shown(transform))
    order = {"shuffle": True} if arguments.sample is None else {"sampler": [arguments.sample] * count}
    with Loader(arguments.dataset, count, **order, **where) as plain:
        fields = fields_for(plain.dataset, fields_of_text(arguments.fields))
    with Loader(arguments.dataset, count, **order, **where, fields=fields) as loader:
        batch = next(iter(loader))
        names = loader.dataset.classes
        labels = batch["label"] if "label" in batch else [None] * len(batch["image"])
        images = Over(loader, kinds_of_fields.fields_of(fields)).images(to_bytes(batch["image"], transform), batch)
        captions = [names[label] if label is not None and label < len(names) else "" for label in labels]
        cells = list(zip(captions, images))
    return [(None, cells[at:at + arguments.columns]) for at in range(0, len(cells), arguments.columns)]


def shown(transform):
    """The loader's arguments for numbers that can be shown: bytes, or floats where Normalize is one of the steps."""
    plan = transforms.plan_of(transform)
    return {"dtype": "float32", "layout": "NHWC"} if plan.normalize is not None or plan.erasing is not None else {}


def to_bytes(images, transform):
    """uint8 images (rows, height, width, channels). What Normalize did is undone."""
    if str(images.dtype) == "uint8":
        return images.copy()
    import numpy
    normalize = transforms.plan_of(transform).normalize
    if normalize is not None:
        images = images * numpy.array(normalize.std, "float32") + numpy.array(normalize.mean, "float32")
    return (images.clip(0, 1) * 255 + 0.5).astype("uint8")

"""What follows an image: the fields of a session that are masks, boxes, points, or values of boxes."""
from . import _penstock as native
from .errors import InvalidArgument
from .fields import Following

IMAGE_SIZE = "image_size"  # of images on a canvas: int32, height and width


def requested(field, targets):
    """What the daemon is told: the dataset's own options, but those that the field has. `targets`: by name, of the dataset."""
    kind, target = getattr(native.TargetKind, field.kind), native.Target()
    known = targets.get(field.name) if targets else None
    options = field.options()
    if known is not None and known.kind == kind:
        _refuse_other_format(field.name, known, options)
        for name in ("box_format", "relative", "fill", "min_side", "point_pairs", "point_numbers", "item_points"):
            setattr(target, name, getattr(known, name))
    target.kind = kind
    if "box_format" in options:
        options["box_format"] = getattr(native.BoxFormat, options["box_format"])
    for name, value in options.items():
        setattr(target, name, value)
    return target


def _refuse_other_format(name, known, options):
    """`format` says how boxes are stored, not how they are delivered."""
    stored = known.box_format.name
    if options.get("box_format", stored) != stored or options.get("relative", known.relative) != known.relative:
        raise InvalidArgument(f"{name!r}: format and relative say how boxes are stored, which this dataset knows; leave them out. Batches "
                              "have boxes as xyxy in pixels")


def kinds(fields, targets):
    """{name: "mask", "boxes", "points", "with_boxes", or None for a field that follows nothing} of the requested fields."""
    return {field.name: _kind(field, targets) for field in fields}


def _kind(field, targets):
    if field.as_stored:
        return None
    if isinstance(field, Following):
        return field.kind.lower()
    known = targets.get(field.name)
    return None if known is None else known.kind.name.lower()

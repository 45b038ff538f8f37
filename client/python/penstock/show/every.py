"""One photograph through every transform: a row for each, of several draws."""
from .. import transforms as t
from . import batch_rows

_SIDE = 96
_FIRST = (t.Resize(108), t.CenterCrop(_SIDE))


def rows_of(arguments):
    """[(name, cells)] for the grid."""
    arguments.sample = arguments.sample or 0
    arguments.rows, arguments.fields = 1, "()"  # policies are for images alone
    rows = []
    for name, steps in _every():
        (_, cells), = batch_rows(arguments, steps)
        rows.append((name, [("", image) for _, image in cells]))
    return rows


def _every():
    """(name, transform)"""
    yield "as it is", list(_FIRST)
    yield "RandomResizedCrop", [t.RandomResizedCrop(_SIDE)]
    yield "Resize, RandomCrop", [t.Resize(120), t.RandomCrop(_SIDE)]
    for step in (t.HorizontalFlip(), t.VerticalFlip(), t.RandomRotation(30, "bilinear"),
                 t.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 15, "bilinear"), t.RandomPerspective(p=1.0),
                 t.RandomCrop(_SIDE, 16, padding_mode="reflect"), t.ColorJitter(0.5, 0.5, 0.5, 0.2), t.RandomGrayscale(0.5),
                 t.GaussianBlur(9, (0.5, 3)), t.RandomSolarize(128), t.RandomPosterize(2), t.RandomEqualize(),
                 t.RandomAutocontrast(), t.RandomInvert(), t.RandomAdjustSharpness(4), t.RandAugment(), t.TrivialAugmentWide(),
                 t.AutoAugment(), t.AugMix(), t.RandomApply([t.ColorJitter(0.5), t.GaussianBlur(9)]),
                 t.RandomChoice([t.RandomInvert(1), t.RandomSolarize(100, 1), t.RandomPosterize(1, 1)])):
        yield type(step).__name__, [*_FIRST, step]
    yield "RandomErasing", [*_FIRST, t.Normalize("imagenet"), t.RandomErasing(0.9)]

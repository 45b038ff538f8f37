"""Draws rows of images."""
from typing import NamedTuple

_GAP, _TEXT, _NAMES = 4, 14, 150
_PAPER, _INK = (255, 255, 255), (40, 40, 40)


class _Cell(NamedTuple):
    """Sizes in pixels."""

    width: int
    height: int
    text: int  # below an image
    names: int  # before a row


def draw(rows, blocks=1):
    """A Pillow image of [(name or None, [(caption, image)])]; images are uint8 arrays (height, width, channels). `blocks`: of
    rows, side by side."""
    from PIL import Image, ImageDraw
    cell, columns, most = _cell_of(rows), max(len(cells) for _, cells in rows), -(-len(rows) // blocks)
    width = cell.names + columns * cell.width + _GAP
    page = Image.new("RGB", (blocks * width, most * (cell.height + cell.text) + _GAP), _PAPER)
    pen = ImageDraw.Draw(page)
    for place, (name, cells) in enumerate(rows):
        _draw_row(page, pen, (place // most * width, _GAP + place % most * (cell.height + cell.text)), name, cells, cell)
    return page


def _cell_of(rows):
    images = [image for _, cells in rows for _, image in cells]
    return _Cell(max(image.shape[1] for image in images) + _GAP, max(image.shape[0] for image in images) + _GAP,
                 _TEXT if any(caption for _, cells in rows for caption, _ in cells) else 0,
                 _NAMES if any(name for name, _ in rows) else 0)


def _draw_row(page, pen, corner, name, cells, cell):
    left, top = corner
    if name:
        pen.text((left + _GAP, top + cell.height // 2 - 6), name, fill=_INK)
    for column, (caption, image) in enumerate(cells):
        x = left + cell.names + _GAP + column * cell.width
        page.paste(_pillow(image), (x, top))
        if caption:
            pen.text((x, top + cell.height - _GAP + 1), _fitting(pen, caption, cell.width - _GAP), fill=_INK)


def _pillow(image):
    from PIL import Image
    return Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).convert("RGB")


def _fitting(pen, text, width):
    """The text, cut where it would be wider."""
    while text and pen.textlength(text) > width:
        text = text[:-1]
    return text

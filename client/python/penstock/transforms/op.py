"""One native step of a recipe, as the daemon is told of it: proto/penstock/v1/types.proto, TransformStep."""
from typing import NamedTuple, Tuple


class Op(NamedTuple):
    """`numbers`: as the table of TransformOp has them. `children`: the steps of a group."""

    name: str
    numbers: Tuple[float, ...] = ()
    probability: float = 1.0
    interpolation: str = "nearest"
    padding_mode: str = "constant"
    children: Tuple["Op", ...] = ()

    @property
    def count(self):
        """Steps of the flat recipe: itself and all within it."""
        return 1 + sum(child.count for child in self.children)

    @property
    def depth(self):
        """Levels of groups."""
        return 1 + max((child.depth for child in self.children), default=-1)

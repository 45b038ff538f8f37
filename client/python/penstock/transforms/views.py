"""Several views of each sample, for `views=` of a loader."""
from . import _checks as check


def MultiCrop(*kinds):
    """`views=MultiCrop((2, large), (6, small))`: as many views of each transform, "crop_0", "crop_1", …, as DINO and SwAV have
    them."""
    views = {}
    for count, transform in kinds:
        for _ in range(check.whole(count, "MultiCrop", "count", 0, 16)):
            views[f"crop_{len(views)}"] = transform
    return views

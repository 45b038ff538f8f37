"""Transforms: descriptions of what the daemon does to a photograph and what is done to the batch; nothing runs here.

Penstock decodes images and changes them in its workers, and normalises the batch in one kernel. A transform is a list of
these steps:

    first    ExifTranspose()           to turn images as their camera recorded
    then     Grayscale()               for one channel
    then     any of these, in any order, that end with images of one size, or with Canvas:
             RandomResizedCrop, Resize, RandomResize, RandomShortestSize, ScaleJitter, CenterCrop, RandomCrop, Pad
             HorizontalFlip, VerticalFlip, RandomRotation, RandomAffine, RandomPerspective
             ColorJitter, RandomGrayscale, GaussianBlur, RandomSolarize, RandomPosterize, RandomEqualize,
             RandomAutocontrast, RandomInvert, RandomAdjustSharpness
             RandAugment, TrivialAugmentWide, AutoAugment, AugMix
             RandomApply, RandomChoice, RandomOrder
    then     Normalize(mean, std)      optional; a flip may also come after it
    last     RandomErasing()           optional

torchvision's objects are accepted as well, alone or in a Compose: those of the same names, and those that set the type
of the result (ToTensor, PILToTensor, ToImage, ToDtype, ConvertImageDtype). A transform whose result would differ from
torchvision's is refused.
"""
from ._checks import Size
from .color import (ColorJitter, GaussianBlur, RandomAdjustSharpness, RandomAutocontrast, RandomEqualize, RandomGrayscale,
                    RandomInvert, RandomPosterize, RandomSolarize)
from .finish import CutMix, MixUp, RandomErasing, mixes_of
from .geometry import HorizontalFlip, Pad, RandomAffine, RandomCrop, RandomPerspective, RandomRotation, VerticalFlip
from .plan import Plan, is_native, plan_of, sides_of
from .policies import AugMix, AutoAugment, RandAugment, RandomApply, RandomChoice, RandomOrder, TrivialAugmentWide
from .views import MultiCrop
from .steps import (INPUTS, Canvas, CenterCrop, ExifTranspose, Grayscale, Normalize, Python, RandomResize, RandomResizedCrop,
                    RandomShortestSize, Resize, ScaleJitter)

__all__ = ["AugMix", "AutoAugment", "Canvas", "CenterCrop", "ColorJitter", "CutMix", "ExifTranspose", "GaussianBlur", "Grayscale",
           "HorizontalFlip", "INPUTS", "MixUp", "MultiCrop", "Normalize", "Pad", "Plan", "Python", "RandAugment", "RandomAdjustSharpness",
           "RandomAffine", "RandomApply", "RandomAutocontrast", "RandomChoice", "RandomCrop", "RandomEqualize",
           "RandomErasing", "RandomGrayscale", "RandomInvert", "RandomOrder", "RandomPerspective", "RandomPosterize",
           "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize", "RandomSolarize", "Resize", "ScaleJitter",
           "Size", "TrivialAugmentWide", "VerticalFlip",
           "is_native", "mixes_of", "plan_of", "sides_of"]

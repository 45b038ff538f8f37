"""What a session is opened with: settings that fit the dataset, or words about why they do not."""
from dataclasses import replace

from . import _targets
from .errors import FailedPrecondition, InvalidArgument


def fitted(settings, dataset):
    """The settings with a transform for the size of the dataset's stored images, if they have one."""
    if dataset.decoded or dataset.row_shape is None:
        return settings
    return replace(settings, plan=settings.plan.of_size(tuple(dataset.row_shape[:2])))


def session_of(loader, open_session, resumes):
    """The session that `open_session` opens, if it reads the dataset that the program knows. `resumes`: it goes on in an epoch."""
    try:
        session = open_session()
    except FailedPrecondition:
        change = loader._stored.change() if resumes else None
        if change is None:
            raise
        raise _other_dataset(loader, change) from None
    change = loader._change_to(session)
    if change is None:
        return session
    session.close()
    raise _other_dataset(loader, change)


def _other_dataset(loader, change):
    return FailedPrecondition(f"{loader._stored.name!r} has changed since this loader looked at it: {change}; make a new loader, which "
                              "begins an epoch anew")


def check(settings, dataset, sampling):
    """Refuses options that would change nothing, or that the images cannot have."""
    if dataset.decoded and not settings.plan.has_geometry:
        raise InvalidArgument(f"the photographs of {dataset.name!r} may have different sizes, and the transform does not give them one "
                              "size; use RandomResizedCrop(224), or Resize(256), CenterCrop(224); or, if all have one, CenterCrop of "
                              "that; or Canvas, for images of different sizes in a batch")
    _check_images(settings, dataset)
    _check_targets(settings, dataset)
    _check_order(settings, dataset, sampling)


def _check_targets(settings, dataset):
    """What follows its image follows one image, alone."""
    names = [name for name, kind in _targets.kinds(settings.fields, dataset._targets).items() if kind is not None]
    canvas = any(plan.canvas for _, plan in settings.views) or settings.plan.canvas
    what = names[0] if names else "Canvas" if canvas else None
    if what is None:
        return
    if settings.mixes:
        name = type(settings.mixes[0][0]).__name__
        raise InvalidArgument(f"{name} mixes images of different samples, which {what!r} does not follow; leave mix out" if names else
                              f"{name} mixes images, and those on a Canvas differ in size; leave mix or Canvas out")
    if settings.views:
        raise InvalidArgument(f"{what!r} follows one image of each sample, and there are several views; leave views out, or request the "
                              "field as it is stored: penstock.Field(…, as_stored=True)" if names else
                              "Canvas is for one image of each sample; leave views out")


def _check_order(settings, dataset, sampling):
    """Synthetic rows only come in the order of their numbers."""
    asked = "a sampler" if sampling is not None else "shuffle" if settings.shuffle else None
    if dataset.kind == "synthetic" and asked is not None:
        raise InvalidArgument(f"{dataset.name!r} makes its rows in the order of their numbers, and {asked} would change nothing: they "
                              "are noise in any order; leave it out")


def _check_images(settings, dataset):
    """The dataset must have images that Penstock finishes, if options are about these."""
    asked = settings.of_images
    if not dataset.decoded and dataset.row_shape is not None:
        _check_channels(settings, dataset, dataset.row_shape[2])
    if dataset.decoded or dataset.row_shape is not None or not asked:
        return
    stored = dataset.fields.get("image")
    there = f"are {stored[0]} and come as they are stored" if stored else "do not exist"
    raise InvalidArgument(f"{' and '.join(asked)} applies to images of bytes, but those of {dataset.name!r} {there}; leave "
                          "it out and do it on the batch, or cast with fields=[penstock.Field(name, dtype=...)]")


def _check_channels(settings, dataset, channels):
    if channels == 1 and settings.plan.makes_three_channels:
        raise InvalidArgument(f"Grayscale(num_output_channels=3) gives three channels, but the images of {dataset.name!r} have 1 and keep it; "
                              "leave it out, and use images.expand(-1, 3, -1, -1)")
    normalize = settings.plan.normalize
    if normalize is not None and len(normalize.mean) not in (1, channels):
        raise InvalidArgument(f"Normalize has {len(normalize.mean)} numbers for mean and std, and the images of "
                              f"{dataset.name!r} have {channels} channel{'s' * (channels > 1)}; give one number for each")

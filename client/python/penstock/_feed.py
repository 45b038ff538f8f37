"""Opens a session from settings. The only module that fills in the extension's structs."""
import os
import sys

from . import _penstock as native
from . import _targets
from ._gpu_decoding.asked import nvjpeg_path
from ._say import say_once
from ._where import is_path
from .errors import InvalidArgument, NotFound
from .fields import Following
from .sampling import ShuffleWindow

_REMAINDERS = {
    "drop": native.Remainder.DROP,
    "pad_ranks": native.Remainder.PAD_RANKS,
    "pad_batch": native.Remainder.PAD_BATCH,
    "partial": native.Remainder.PARTIAL,
}


def program_name():
    return os.path.basename(sys.argv[0] or "python") if sys.argv else "python"


def connect(settings):
    """A client. If no daemon answers, starts or joins this user's private one."""
    private = is_path(settings.dataset)
    client = native.Client.connect(address=settings.address, start_private=True, name=program_name(),
                                   only_private=private and not is_addressed(settings),
                                   connect_timeout=settings.connect_timeout)
    if client.is_private:
        say_once(f"using {os.environ.get('USER') or 'this user'}'s private daemon on this node, {client.address}; it exits "
                 "10 s after its last session")
    return client


def connect_private(settings):
    """This user's private daemon, although $PENSTOCK_ADDRESS names another one, which is read again by everything else."""
    address = os.environ.pop("PENSTOCK_ADDRESS", None)
    try:
        return connect(settings)
    finally:
        if address is not None:
            os.environ["PENSTOCK_ADDRESS"] = address


def resolve(client, settings):
    """(the dataset's name, whether this client's daemon is the one to ask for it), for settings with `beside`.

    A configured dataset takes precedence over a file of its name in the current folder."""
    if _knows(client, settings.dataset):
        say_once(f"{settings.dataset!r} is the daemon's dataset of that name; for the one in this folder give "
                 f"{'./' + settings.dataset!r}")
        return settings.dataset, True
    return settings.beside, client.is_private or is_addressed(settings)


def is_addressed(settings):
    return bool(settings.address) or "PENSTOCK_ADDRESS" in os.environ


def _knows(client, name):
    try:
        client.describe(name)
    except NotFound:
        return False
    return True


def finish_of(settings, plan=None):
    """`plan`: of a further view."""
    finish = native.Finish()
    finish.type = native.Type.UINT8 if settings.unscaled else getattr(native.Type, settings.dtype.upper())
    finish.layout = getattr(native.Layout, settings.layout)
    normalize = (plan or settings.plan).normalize
    if normalize is not None and not settings.unscaled:
        finish.mean = _three(normalize.mean)
        finish.stddev = _three(normalize.std)
    return finish


def effects_of(settings, session, keying, classes):
    """What the finish draws for each batch: boxes to erase, and mixes; None if nothing. `classes`: of the dataset."""
    if not settings.has_effects:
        return None
    effects = _effects(settings.plan, session, keying, session.shape[3])
    if settings.mixes:
        effects.classes = _classes_of(settings, session, classes)
        effects.mixes, effects.mix_step = _choices_of(settings.mixes), settings.plan.erasing_step + 1
    effects.check()
    return effects


def view_effects_of(plan, number, session, keying, channels):
    """The same for a further view of each sample, by its number from 1 on."""
    if plan.erasing is None:
        return None
    effects = _effects(plan, session, keying, channels)
    effects.view = number
    effects.check()
    return effects


def _effects(plan, session, keying, channels):
    by_position, given_by = keying
    effects = native.EffectOptions()
    effects.seed, effects.by_position = session.state.seed, by_position
    if given_by is not None:
        effects.given_by = native.GivenBy(given_by.rank, given_by.world_size)
    if plan.erasing is not None:
        effects.erasing = erasing_of(plan.erasing, plan.erasing_step, channels)
    return effects


def erasing_of(given, step, channels):
    """`step`: the number of its draws."""
    erasing = native.RandomErasing()
    erasing.probability, erasing.step = given.p, step
    (erasing.scale_min, erasing.scale_max), (erasing.ratio_min, erasing.ratio_max) = given.scale, given.ratio
    values = given.values(channels)
    erasing.fill = native.EraseFill.NOISE if values is None else native.EraseFill.VALUE
    if values is not None:
        erasing.value = _three(values)
    return erasing


def _choices_of(mixes):
    """Each batch takes one by weight, and leaves it out with the probability 1 - p."""
    kinds = {"MixUp": native.MixKind.MIXUP, "CutMix": native.MixKind.CUTMIX}
    choices = [native.MixChoice(kinds[type(mix).__name__], mix.alpha, weight * mix.p) for mix, weight in mixes if mix.p > 0]
    left_out = sum(weight * (1 - mix.p) for mix, weight in mixes)
    return choices + [native.MixChoice(native.MixKind.NONE, 1.0, left_out)] if left_out > 0 else choices


def _classes_of(settings, session, classes):
    name, wanted = type(settings.mixes[0][0]).__name__, settings.mixes[0][0].num_classes
    if not session.labeled:
        raise InvalidArgument(f"{name} mixes labels, but the dataset has none; leave mix out")
    if wanted is None and not classes:
        raise InvalidArgument(f"{name}: num_classes is None, and the dataset does not say how many it has; give num_classes")
    if wanted is not None and wanted < classes:
        raise InvalidArgument(f"{name}: num_classes is {wanted}, but the dataset has {classes} classes")
    return wanted or classes


def options_of(settings, state, device, order=None, given_by=None, targets=(), gpu_share=0.0):
    """`order`: the samples of one epoch, as uint64; None: the daemon's own order. `given_by`: the rank that it is for. `targets`: what
    the dataset says of its fields (_targets.py). `gpu_share`: of the samples that the GPU's engines can take, those that they decode."""
    options = native.SessionOptions()
    options.dataset = settings.dataset
    options.batch_size = settings.batch_size
    options.order = native.Order.SHUFFLED if settings.shuffle else native.Order.SEQUENTIAL
    if isinstance(settings.shuffle, ShuffleWindow):
        options.order, options.shuffle_window = native.Order.SHUFFLED_IN_WINDOWS, _window_of(settings.shuffle)
    if settings.range is not None:
        options.range = _range_of(settings.range)
    if order is not None:
        options.order, options.given, options.epochs = native.Order.GIVEN, order, 1
        if given_by is not None:
            options.given_by = native.GivenBy(given_by.rank, given_by.world_size)
    options.seed = settings.seed
    _set_decoding(options, settings.plan)
    options.more_images = [_more_image(name, plan) for name, plan in settings.views]
    options.rank = settings.rank.rank
    options.world_size = settings.rank.world_size
    options.remainder = _REMAINDERS[settings.remainder]
    options.window = settings.window
    options.state = state
    options.fail_on_bad_sample = settings.fail_on_bad_sample
    options.fields = [_request_of(field, targets) for field in settings.fields]
    options.name = settings.name
    options.device = "host" if device == "cpu" else device
    if gpu_share:
        options.gpu_decoding = native.GpuDecoding(share=gpu_share, nvjpeg=nvjpeg_path())
    options.delivery = getattr(native.Delivery, settings.delivery.upper())
    return options


def _window_of(shuffle):
    window = native.ShuffleWindow()
    window.shards, window.shard_samples = shuffle.shards, shuffle.shard_samples or 0
    return window


def _range_of(samples):
    wanted = native.SampleRange()
    wanted.first, wanted.count = samples
    return wanted


def _request_of(field, targets):
    request = native.FieldRequest()
    request.name, request.max_length, request.as_stored = field.name, field.max_length, field.as_stored
    if isinstance(field, Following):
        request.target = _targets.requested(field, targets)
    return request


def _three(values):
    return list(values) * 3 if len(values) == 1 else list(values)


def _set_decoding(options, plan):
    """`options`: SessionOptions, or ImageOptions."""
    from .transforms import sides_of
    options.flip_probability = plan.flip
    options.color = native.Color.GRAY if plan.gray else native.Color.RGB
    options.apply_exif_orientation = plan.upright
    options.steps = [_step_of(op) for op in plan.ops()]
    if plan.whole is not None:
        whole = native.WholeImage()
        whole.height, whole.width = plan.whole
        whole.canvas = plan.canvas
        options.whole_image = whole
    elif plan.random_crop is not None:
        crop = native.RandomResizedCrop()
        crop.height, crop.width = sides_of(plan.random_crop)
        crop.scale_min, crop.scale_max = plan.random_crop.scale
        crop.ratio_min, crop.ratio_max = plan.random_crop.ratio
        options.random_crop, options.interpolation = crop, _interpolation(plan.random_crop.op())
    elif plan.center_crop is not None:
        resize, center = plan.center_crop
        crop = native.ResizeCenterCrop()
        crop.resize = resize.shorter
        crop.height, crop.width = sides_of(center)
        options.center_crop, options.interpolation = crop, _interpolation(resize.op())


def _more_image(name, plan):
    image, more = native.ImageOptions(), native.MoreImage()
    _set_decoding(image, plan)
    more.name, more.image = name, image
    return more


def _step_of(op):
    step = native.TransformStep()
    step.op, step.numbers, step.probability = getattr(native.TransformOp, op.name), op.numbers, op.probability
    step.interpolation, step.padding_mode = _interpolation(op), getattr(native.PaddingMode, op.padding_mode.upper())
    step.steps = [_step_of(child) for child in op.children]
    return step


def _interpolation(op):
    return getattr(native.Interpolation, op.interpolation.upper())

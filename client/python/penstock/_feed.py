"""Opens a session from settings. The only module that fills in the extension's structs."""
import os
import sys

from . import _penstock as native
from ._say import say_once
from ._where import is_path
from .errors import NotFound
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
                                   only_private=private and not is_addressed(settings))
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


def finish_of(settings):
    finish = native.Finish()
    finish.type = native.Type.UINT8 if settings.unscaled else getattr(native.Type, settings.dtype.upper())
    finish.layout = getattr(native.Layout, settings.layout)
    normalize = settings.plan.normalize
    if normalize is not None and not settings.unscaled:
        finish.mean = _three(normalize.mean)
        finish.stddev = _three(normalize.std)
    return finish


def options_of(settings, state, device, order=None, given_by=None):
    """`order`: the samples of one epoch, as uint64; None: the daemon's own order. `given_by`: the rank that it is for."""
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
    options.rank = settings.rank.rank
    options.world_size = settings.rank.world_size
    options.remainder = _REMAINDERS[settings.remainder]
    options.window = settings.window
    options.state = state
    options.fail_on_bad_sample = settings.fail_on_bad_sample
    options.fields = [_request_of(field) for field in settings.fields]
    options.name = settings.name
    options.device = "host" if device == "cpu" else device
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


def _request_of(field):
    request = native.FieldRequest()
    request.name, request.max_length, request.as_stored = field.name, field.max_length, field.as_stored
    return request


def _three(values):
    return list(values) * 3 if len(values) == 1 else list(values)


def _set_decoding(options, plan):
    from .transforms import sides_of
    options.flip_probability = plan.flip
    options.color = native.Color.GRAY if plan.gray else native.Color.RGB
    options.apply_exif_orientation = plan.upright
    if plan.random_crop is not None:
        crop = native.RandomResizedCrop()
        crop.height, crop.width = sides_of(plan.random_crop)
        crop.scale_min, crop.scale_max = plan.random_crop.scale
        crop.ratio_min, crop.ratio_max = plan.random_crop.ratio
        options.random_crop = crop
    elif plan.center_crop is not None:
        resize, center = plan.center_crop
        crop = native.ResizeCenterCrop()
        crop.resize = resize.size
        crop.height, crop.width = sides_of(center)
        options.center_crop = crop

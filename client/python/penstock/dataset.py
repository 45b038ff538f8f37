"""A dataset as the daemon describes it."""
_AT_ONCE = 65536  # samples in one request


def _some(names):
    return ", ".join(names[:5]) + (f", … ({len(names)})" if len(names) > 5 else "")


class Dataset:
    """A dataset: its name, kind ("folder", "tar", "idx", "tokens", ...), number of samples (`len`), classes, and the path of
    each sample.

    `fields` has the fields that a loader can request: name to (type, shape), with None for a side whose length differs.
    `epoch_samples` is the number of samples in an epoch; for a mixture it is the configured one.

    `dataset[i]` is one sample, decoded and transformed, as from torch's datasets. It is for inspection, because each one
    opens a feed of its own.
    """

    def __init__(self, client, dataset, within=None, sample=None, connect=None):
        """`within`: (first, count) of the samples to use; None: all. `sample`: a function from a sample's id to the
        sample. `connect` returns another client once this one was let go."""
        self._client, self._connect = client, connect
        self._asked = dataset
        self._sample = sample
        self._described = None
        (self.name, samples, self.classes, self.kind, row, fields, self.decoded, self.labeled, first,
         self.epoch_samples, targets, self._digest) = client.describe(dataset)
        self._whole = samples  # of all of it, also if only a part is wanted
        self._first, self._samples = within or (first, samples)
        if within is not None:
            self.epoch_samples = self._samples
        # (height, width, channels) of images that need no decoding; else None.
        self.row_shape = row if all(row) else None
        self.fields = {name: (dtype, (None, *shape) if variable else shape) for name, dtype, shape, variable in fields}
        self._targets = {name: target for (name, *_), target in zip(fields, targets) if target.kind.name != "NONE"}

    def __len__(self):
        return self._samples

    def __getitem__(self, index):
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f"the index is {index!r}; give the number of one sample, or iterate the loader for batches")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range; the dataset has {len(self)} samples")
        return self._sample(self._first + index % len(self))

    def __getitems__(self, place):
        """Called by torch's DataLoader with a batch's place in an epoch (from `loader.batch_sampler`), or with indices."""
        return place.take() if hasattr(place, "take") else [self[int(index)] for index in place]

    @property
    def following(self):
        """The fields that follow their images through crops and flips: {name: "mask", "boxes", "points" or "with_boxes"}."""
        return {name: target.kind.name.lower() for name, target in self._targets.items()}

    @property
    def class_to_idx(self):
        return {name: index for index, name in enumerate(self.classes)}

    @property
    def sample_ids(self):
        """The samples' numbers, as batches name them: from 0 on, except for a part of a dataset, whose samples keep
        their numbers."""
        return range(self._first, self._first + self._samples)

    def _connected(self):
        if self._client is None:
            self._client = self._connect()
        return self._client

    def disconnect(self):
        """Lets go of the daemon, so that a private one may end."""
        if self._connect is not None:
            self._client = None

    def change(self):
        """What has changed since it was described, in words; None if nothing has."""
        now = self._anew()
        counts = self._difference(now)
        return counts if counts is not None or now._digest == self._digest else "files have other names or sizes"

    def change_to(self, session):
        """How what a session reads differs from what was described, in words; None if it has as many samples of the same
        classes. Single files may have changed."""
        if self._digest == session.dataset_digest:
            return None
        difference = self._difference(self._anew())
        if difference is None:
            self._digest, self._described = session.dataset_digest, None
        return difference

    def _anew(self):
        return Dataset(self._connected(), self._asked)

    def _difference(self, now):
        if now._whole != self._whole:
            return f"it had {self._whole} samples, and has {now._whole}"
        if now.classes != self.classes:
            return f"it had the classes {_some(self.classes)}, and has {_some(now.classes)}"
        return None

    def content_digest(self):
        """SHA-256 of all content, with relative paths, labels and sizes, in hexadecimal. Compare it to check that two
        datasets are equal byte for byte. The daemon reads everything for it, once while the dataset is open; Ctrl-C
        stops it."""
        return self._connected().content_digest(self._asked)

    def path(self, sample_id):
        """Where a sample's bytes are, for display: control characters, and bytes that are not UTF-8, are escaped."""
        return self._connected().samples(self._asked, [sample_id])[0][0]

    @property
    def samples(self):
        """(path, label) of each sample, as in ImageFolder. Paths with control characters, or that are not UTF-8, are escaped
        for display."""
        self._check_labeled("samples")
        if self._described is None:
            ids = self.sample_ids
            self._described = [pair for begin in range(0, len(ids), _AT_ONCE)
                               for pair in self._connected().samples(self._asked, list(ids[begin:begin + _AT_ONCE]))]
        return self._described

    imgs = samples

    @property
    def targets(self):
        """The label of each sample."""
        return [label for _, label in self.samples]

    def _check_labeled(self, what):
        if not self.labeled:
            raise AttributeError(f"the samples of {self.name!r} have no labels, so it has no {what}; path(sample_id) "
                                 "returns a sample's path")

    def __repr__(self):
        return f"<penstock dataset {self.name!r}: {len(self)} samples, {len(self.classes)} classes>"

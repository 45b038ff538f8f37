"""A dataset as the daemon describes it."""


class Dataset:
    """Its name, kind ("folder", "tar", "idx", "tokens", ...), how many samples it has, its classes, what can be
    asked for of each (`fields`: name to type, shape, None for a side whose length differs), and where each
    sample lies. `epoch_samples`: how many an epoch has; of a mixture that is as configured."""

    def __init__(self, client, dataset, within=None):
        """`within`: (first, count) of the samples that are meant; None: all that the name means."""
        self._client = client
        self._asked = dataset
        (self.name, samples, self.classes, self.kind, row, fields, self.decoded, self.labeled, first,
         self.epoch_samples) = client.describe(dataset)
        self._first, self._samples = within or (first, samples)
        if within is not None:
            self.epoch_samples = self._samples
        # (height, width, channels) of images that are not decoded; else None.
        self.row_shape = row if all(row) else None
        self.fields = {name: (dtype, (None, *shape) if variable else shape) for name, dtype, shape, variable in fields}

    def __len__(self):
        return self._samples

    @property
    def class_to_idx(self):
        return {name: index for index, name in enumerate(self.classes)}

    @property
    def sample_ids(self):
        """As batches name them; from 0 on, but for a part of a dataset, whose samples keep their numbers."""
        return range(self._first, self._first + self._samples)

    def path(self, sample_id):
        """Where a sample's bytes are, for people."""
        return self._client.samples(self._asked, [sample_id])[0][0]

    def __repr__(self):
        return f"<penstock dataset {self.name!r}: {len(self)} samples, {len(self.classes)} classes>"

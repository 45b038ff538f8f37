"""A dataset as the daemon describes it."""


class Dataset:
    """Its name, kind ("folder", "tar", "idx", "tokens", ...), how many samples it has, its classes, what can be
    asked for of each (`fields`: name to type, shape, None for a side whose length differs), and where each
    sample lies."""

    def __init__(self, client, dataset):
        self._client = client
        self._asked = dataset
        self.name, self._samples, self.classes, self.kind, row, fields, self.decoded, self.labeled = client.describe(dataset)
        # (height, width, channels) of images that are not decoded; else None.
        self.row_shape = row if all(row) else None
        self.fields = {name: (dtype, (None, *shape) if variable else shape) for name, dtype, shape, variable in fields}

    def __len__(self):
        return self._samples

    @property
    def class_to_idx(self):
        return {name: index for index, name in enumerate(self.classes)}

    def path(self, sample_id):
        """Where a sample's bytes are, for people."""
        return self._client.samples(self._asked, [sample_id])[0][0]

    def __repr__(self):
        return f"<penstock dataset {self.name!r}: {len(self)} samples, {len(self.classes)} classes>"

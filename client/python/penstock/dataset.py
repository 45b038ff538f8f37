"""A dataset as the daemon describes it."""


class Dataset:
    """Its name, kind ("folder", "idx", "synthetic"), how many samples it has, its classes, and where each
    sample lies."""

    def __init__(self, client, dataset):
        self._client = client
        self._asked = dataset
        self.name, self._samples, self.classes, self.kind, row = client.describe(dataset)
        # (height, width, channels); None where samples are decoded, and of any size before.
        self.row_shape = row if all(row) else None

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

"""Brings finished batches into pinned memory or onto a GPU, ahead of the loop."""

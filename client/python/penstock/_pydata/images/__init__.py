"""Encoded images in the samples of Python datasets."""

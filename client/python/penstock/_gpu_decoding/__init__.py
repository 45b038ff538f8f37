"""Decoding by the JPEG engines of this process's GPU: what a loader is asked for, which share of the samples, CUDA's connections."""

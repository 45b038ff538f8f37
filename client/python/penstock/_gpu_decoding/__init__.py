"""Decoding by the JPEG engines of this process's GPU: what a loader is asked for, and which share of the samples."""
from .asked import Decoding, decoding_of, nvjpeg_path, obstacle
from .share import GpuShare, rate_of, share_for

__all__ = ["Decoding", "GpuShare", "decoding_of", "nvjpeg_path", "obstacle", "rate_of", "share_for"]

"""nvJPEG's batched calls and nothing else, on the engines: what a decoder costs at least. By ctypes, with nvJPEG's own memory."""
import ctypes
import glob

import setting
import torch

HARDWARE, RGB_INTERLEAVED = 3, 5  # nvjpegBackend_t, nvjpegOutputFormat_t
PLACES = ("libnvjpeg.so.13", "/usr/local/cuda*/lib64/libnvjpeg.so*", "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libnvjpeg.so*")
CALLS = 8  # with files of their own, which are made again and again


class Image(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_void_p * 4), ("pitch", ctypes.c_size_t * 4)]


class NvjpegCalls:
    """Each `take` decodes `images` whole photographs on the current stream, and waits for them."""

    def __init__(self, data, images=64):
        self._library, self._images, self._next = _load(), images, 0
        self._handle, self._state = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self._library.nvjpegCreateEx(HARDWARE, None, None, ctypes.c_uint(0), ctypes.byref(self._handle)))
        self._check(self._library.nvjpegJpegStateCreate(self._handle, ctypes.byref(self._state)))
        self._check(self._library.nvjpegDecodeBatchedInitialize(self._handle, self._state, images, 1, RGB_INTERLEAVED))
        photographs = setting.photographs(data, engines_alone=True)
        chosen = [photographs[i % len(photographs)] for i in range(CALLS * images)]
        self._files = [torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).pin_memory() for path in chosen]
        sizes = [setting.size_of(path) for path in chosen]
        most = max(height * _pitch(width) for width, height in sizes)
        self._pixels = torch.empty(images, most, dtype=torch.uint8, device="cuda")
        self._calls = [self._call(sizes, first) for first in range(0, len(chosen), images)]

    def _call(self, sizes, first):
        files, count = self._files[first:first + self._images], self._images
        pointers = (ctypes.c_void_p * count)(*(file.data_ptr() for file in files))
        lengths = (ctypes.c_size_t * count)(*(file.numel() for file in files))
        images = (Image * count)()
        for row, (width, _) in enumerate(sizes[first:first + count]):
            images[row].channel[0], images[row].pitch[0] = self._pixels[row].data_ptr(), _pitch(width)
        return pointers, lengths, images

    def take(self):
        stream = torch.cuda.current_stream()
        pointers, lengths, images = self._calls[self._next % CALLS]
        self._next += 1
        self._check(self._library.nvjpegDecodeBatched(self._handle, self._state, pointers, lengths, images,
                                                      ctypes.c_void_p(stream.cuda_stream)))
        stream.synchronize()
        return self._images

    @staticmethod
    def _check(code):
        if code:
            raise RuntimeError(f"nvJPEG: error {code}")


def _pitch(width):
    return (3 * width + 255) // 256 * 256


def _load():
    for place in PLACES:
        for path in glob.glob(place) or [place]:
            try:
                return ctypes.CDLL(path)
            except OSError:
                pass
    raise SystemExit("no libnvjpeg")

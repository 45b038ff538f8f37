"""How to bind the C API from another language, here by Python's ctypes: binding.py ADDRESS FOLDER [LIBRARY]

Takes one epoch of the folder from the daemon at ADDRESS, and prints a line for each batch. Python programs
use the package `penstock` instead (client/python).
"""
import ctypes as c
import sys


class Error(c.Structure):
    _fields_ = [("code", c.c_int32), ("message", c.c_char * 1020)]


class ClientOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("address", c.c_char_p), ("name", c.c_char_p),
                ("start_private", c.c_int32), ("only_private", c.c_int32),
                ("interrupted", c.c_void_p), ("interrupted_argument", c.c_void_p)]


class SessionOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("dataset", c.c_char_p), ("name", c.c_char_p), ("device", c.c_char_p),
                ("batch_size", c.c_uint32), ("order", c.c_int32), ("seed", c.c_uint64),
                ("given", c.POINTER(c.c_uint64)), ("given_count", c.c_uint64),
                ("given_rank", c.c_uint32), ("given_ranks", c.c_uint32),
                ("shard_samples", c.c_uint64), ("window_shards", c.c_uint32), ("remainder", c.c_int32),
                ("range_first", c.c_uint64), ("range_count", c.c_uint64), ("epochs", c.c_uint64),
                ("rank", c.c_uint32), ("world_size", c.c_uint32), ("state", c.c_void_p),
                ("window", c.c_uint32), ("fail_on_bad_sample", c.c_int32),
                ("fields", c.c_void_p), ("field_count", c.c_size_t),
                ("decode", c.c_int32), ("height", c.c_uint32), ("width", c.c_uint32), ("resize", c.c_uint32),
                ("scale_min", c.c_double), ("scale_max", c.c_double), ("ratio_min", c.c_double),
                ("ratio_max", c.c_double), ("flip_probability", c.c_double), ("interpolation", c.c_int32),
                ("canvas", c.c_int32), ("gray", c.c_int32), ("apply_exif_orientation", c.c_int32),
                ("delivery", c.c_int32), ("handle", c.c_int32), ("device_depth", c.c_uint32),
                ("reserved", c.c_int32), ("open_timeout_ms", c.c_int64)]


class BatchInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("epoch", c.c_uint64), ("step", c.c_uint64), ("first", c.c_uint64),
                ("rows", c.c_uint32), ("valid_rows", c.c_uint32), ("height", c.c_uint32), ("width", c.c_uint32),
                ("channels", c.c_uint32), ("last_of_epoch", c.c_int32), ("on_device", c.c_int32),
                ("synthetic", c.c_int32), ("images", c.POINTER(c.c_uint8)), ("image_bytes", c.c_size_t),
                ("labels", c.POINTER(c.c_int64)), ("sample_ids", c.POINTER(c.c_uint64))]


END_OF_EPOCH, END_OF_DATA = 9, 10


class PenstockError(Exception):
    def __init__(self, error):
        super().__init__(error.message.decode())
        self.code = error.code


class Library:
    """The functions of libpenstock.so.1 that this example needs, with their types."""

    def __init__(self, path="libpenstock.so.1"):
        library = c.CDLL(path)
        handle, error = c.c_void_p, c.POINTER(Error)
        signatures = {
            "penstock_connect": [c.POINTER(ClientOptions), c.POINTER(handle), error],
            "penstock_open": [handle, c.POINTER(SessionOptions), c.POINTER(handle), error],
            "penstock_next": [handle, c.c_int64, c.POINTER(handle), error],
            "penstock_batch_get": [handle, c.POINTER(BatchInfo), error],
        }
        for name, arguments in signatures.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, c.c_int32
        for name in ("penstock_release", "penstock_close", "penstock_disconnect"):
            function = getattr(library, name)
            function.argtypes, function.restype = [handle], None
        self.library = library

    def call(self, name, *arguments):
        """Calls a function that can fail, which takes an error last."""
        error = Error()
        if getattr(self.library, name)(*arguments, c.byref(error)) != 0:
            raise PenstockError(error)

    def make(self, name, *arguments):
        """Calls one that returns a handle, which is its last argument but for the error."""
        handle = c.c_void_p()
        self.call(name, *arguments, c.byref(handle))
        return handle


def batches(penstock, session):
    """Yields (numbers, labels) of each batch of an epoch. The views are valid until the next one."""
    while True:
        try:
            batch = penstock.make("penstock_next", session, -1)
        except PenstockError as error:
            if error.code in (END_OF_EPOCH, END_OF_DATA):
                return
            raise
        info = BatchInfo(struct_size=c.sizeof(BatchInfo))
        penstock.call("penstock_batch_get", batch, info)
        try:
            yield info, info.labels[:info.rows]
        finally:
            penstock.library.penstock_release(batch)


def main():
    address, folder, *library = sys.argv[1:]
    penstock = Library(*library)
    client = penstock.make("penstock_connect", ClientOptions(struct_size=c.sizeof(ClientOptions),
                                                             address=address.encode()))
    options = SessionOptions(struct_size=c.sizeof(SessionOptions), dataset=folder.encode(), batch_size=32, epochs=1)
    session = penstock.make("penstock_open", client, options)
    for info, labels in batches(penstock, session):
        print(f"step {info.step}: {info.rows} images, first label {labels[0]}")
    penstock.library.penstock_close(session)
    penstock.library.penstock_disconnect(client)


if __name__ == "__main__":
    main()

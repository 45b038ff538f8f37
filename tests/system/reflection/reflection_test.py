"""Calls the services with a stock gRPC client that has none of our files and learns them by reflection.

    reflection_test.py -v BIN

Needs Debian's python3-grpcio and python3-protobuf. Generates no code.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
except ImportError as missing:
    print(f"SKIPPED: {missing}; deploy/install-deps.sh --tests brings it")
    sys.exit(77)

BIN = pathlib.Path(sys.argv.pop()).resolve()
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
ADMIN = "penstock.v1.AdminService"


def field(number, data):
    """Encodes one length-delimited field of a message."""
    length, size = b"", len(data)
    while size > 127:
        length += bytes([size % 128 + 128])
        size //= 128
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def fields(message):
    """Yields the length-delimited fields of a message as (number, bytes)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            size = varint()
            yield key >> 3, message[at:at + size]
            at += size
        else:
            varint()


class Stranger:
    """Calls any method that the server's reflection lists."""

    def __init__(self, channel):
        self.channel, self.pool = channel, descriptor_pool.DescriptorPool()
        self.added = set()
        self.reflect = channel.stream_stream(REFLECTION)

    def ask(self, request):
        answer = next(iter(self.reflect(iter([request]), timeout=10)))
        return dict(fields(answer))

    def services(self):
        listed = self.ask(field(7, b"*"))[6]
        return {dict(fields(service))[1].decode() for number, service in fields(listed) if number == 1}

    def learn(self, symbol):
        for number, data in fields(self.ask(field(4, symbol.encode()))[4]):
            if number == 1:
                self.add(descriptor_pb2.FileDescriptorProto.FromString(data))
        return self.pool.FindServiceByName(symbol)

    def add(self, file):
        if file.name in self.added:
            return
        self.added.add(file.name)
        for name in file.dependency:
            for number, data in fields(self.ask(field(3, name.encode()))[4]):
                if number == 1:
                    self.add(descriptor_pb2.FileDescriptorProto.FromString(data))
        self.pool.Add(file)

    def call(self, service, method, **values):
        described = self.learn(service).methods_by_name[method]
        factory = message_factory.MessageFactory(self.pool)
        request = factory.GetPrototype(described.input_type)(**values)
        streams = self.learn_streams(service)[method]
        make = self.channel.unary_stream if streams else self.channel.unary_unary
        return make(f"/{service}/{method}",
                    request_serializer=lambda message: message.SerializeToString(),
                    response_deserializer=factory.GetPrototype(described.output_type).FromString)(
                        request, timeout=10)

    def learn_streams(self, service):
        proto = descriptor_pb2.ServiceDescriptorProto()
        self.learn(service).CopyToProto(proto)
        return {method.name: method.server_streaming for method in proto.method}


class ReflectionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.daemon = subprocess.Popen([BIN / "penstockd", "--private", cls.folder.name, "--workers", "1"],
                                      stderr=subprocess.DEVNULL)
        socket = os.path.join(cls.folder.name, "penstock.sock")
        channel = grpc.insecure_channel("unix:" + socket)
        grpc.channel_ready_future(channel).result(timeout=20)
        cls.stranger = Stranger(channel)
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        cls.stranger.channel.close()
        cls.daemon.terminate()
        cls.daemon.wait(timeout=10)

    def refused(self, method, code, **values):
        with self.assertRaises(grpc.RpcError) as caught:
            answer = self.stranger.call(ADMIN, method, **values)
            next(iter(answer))
        self.assertEqual(caught.exception.code(), code)
        return caught.exception.details()

    def test_it_learns_every_service(self):
        self.assertLessEqual({ADMIN, "penstock.v1.FeedService", "grpc.health.v1.Health"},
                             self.stranger.services())

    def test_every_question_of_an_operator_is_answered(self):
        status = self.stranger.call(ADMIN, "GetStatus")
        self.assertTrue(status.serving)
        self.assertEqual(status.pid, self.daemon.pid)
        for method in ("ListSessions", "ListWorkers", "ListDatasets", "ListQuarantine"):
            self.assertIsInstance(json_format.MessageToDict(self.stranger.call(ADMIN, method)), dict)

    def test_streams_go_on_until_they_are_left(self):
        watch = self.stranger.call(ADMIN, "WatchStatus", interval_ms=100)
        first, second = next(watch), next(watch)
        watch.cancel()
        self.assertGreater(second.time_unix_ms, first.time_unix_ms)

    def test_what_changes_the_daemon_can_be_called_too(self):
        self.assertEqual(self.stranger.call(ADMIN, "SetWorkers", count=2).before, 1)
        self.assertEqual(self.stranger.call(ADMIN, "SetWorkers", count=1).before, 2)
        self.assertTrue(list(self.stranger.call(ADMIN, "Drain"))[-1].done)
        self.assertTrue(self.stranger.call(ADMIN, "GetStatus").draining)
        self.assertTrue(list(self.stranger.call(ADMIN, "Drain", cancel=True))[-1].done)
        self.assertFalse(self.stranger.call(ADMIN, "GetStatus").draining)

    def test_a_trace_is_text_in_pieces(self):
        text = b"".join(piece.text for piece in self.stranger.call(ADMIN, "GetTrace", duration_ms=200))
        self.assertTrue(text.startswith(b"{") and text.rstrip().endswith(b"}"))

    def test_what_is_wrong_is_said_in_words(self):
        self.assertIn("no configuration", self.refused("Reload", grpc.StatusCode.FAILED_PRECONDITION))
        self.assertIn("100 to 60000",
                      self.refused("WatchStatus", grpc.StatusCode.INVALID_ARGUMENT, interval_ms=1))
        self.assertIn("1 to 1024",
                      self.refused("SetWorkers", grpc.StatusCode.INVALID_ARGUMENT, count=0))
        self.refused("ListQuarantine", grpc.StatusCode.RESOURCE_EXHAUSTED, dataset="x" * (2 << 20))
        self.assertTrue(self.stranger.call(ADMIN, "GetStatus").serving)


if __name__ == "__main__":
    unittest.main()

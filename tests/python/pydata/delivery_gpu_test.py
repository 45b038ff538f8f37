"""Tests batches of Python datasets on a GPU and in pinned memory: bytes, streams, memory, errors, positions."""
import functools
import gc
import sys
import time
import unittest

from slots import features, support

torch = support.need("torch")
if not torch.cuda.is_available():
    support.skip("no GPU: torch sees none")

from python_datasets import Counting, Failing, Numbers, Pair, Record, Shaped, Stateful, numpy, plain  # noqa: E402
from workers_test import WorkersTest  # noqa: E402

DTYPES = [name for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
                            "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "float8_e4m3fn",
                            "float8_e5m2") if hasattr(torch, name)]
MEGA = 1 << 20


class Tagged(torch.Tensor):
    pass


class Own:
    """Moves itself."""

    def __init__(self, tensor):
        self.tensor = tensor

    def to(self, *arguments, **keywords):
        return Own(self.tensor.to(*arguments, **keywords))

    def pin_memory(self):
        return Own(self.tensor.pin_memory())


def first(samples):
    return samples[0]


def of_type(name, index, side=64):
    dtype = getattr(torch, name)
    size = torch.empty((), dtype=dtype).element_size()
    torch.manual_seed(index)
    if name == "bool":
        return torch.randint(2, (3, side, side), dtype=torch.uint8).to(dtype)
    return torch.randint(255, (3, side, side * size), dtype=torch.uint8).view(dtype)


def bits(tensor):
    tensor = tensor.detach().cpu()
    return tensor.resolve_conj().contiguous().view(torch.uint8).flatten().tolist() if tensor.numel() else []


def anything(index, wide=True):
    """Everything that a batch may have. `wide`: what torch moves, and does not pin."""
    torch.manual_seed(index)
    image = torch.rand(2, 3, 8, 8)
    shared = torch.arange(4.) + index
    return {"image": image, "last": image.contiguous(memory_format=torch.channels_last),
            "turned": image.permute(3, 1, 0, 2), "number": torch.tensor(index), "none": torch.zeros(0, 3),
            "wide": torch.ones(1).expand(5) if wide else 0, "twice": [shared, shared],
            "array": numpy.arange(6) + index, "pair": Pair(torch.ones(2), "text"),
            "record": Record(torch.zeros(3), None),
            "grad": torch.ones(2, requires_grad=True), "parameter": torch.nn.Parameter(torch.ones(2)),
            "tagged": torch.full((3,), index).as_subclass(Tagged), "own": Own(torch.ones(2) * index),
            "sparse": torch.eye(3).to_sparse(), "complex": torch.full((2,), 1j), "bytes": b"abc", "nothing": None}


class BytesTest(WorkersTest):
    def test_all_types(self):
        for name in DTYPES:
            dataset = Shaped(lambda i, name=name: of_type(name, i), 6)
            expected = [bits(batch) for batch in self.loader(dataset, batch_size=None, num_workers=0)]
            for keywords in ({"device": "cuda"}, {"device": "cuda", "num_workers": 0}, {"pin_memory": True},
                             {"pin_memory": True, "num_workers": 0}):
                with self.subTest(dtype=name, **keywords):
                    got = list(self.loader(dataset, batch_size=None, **keywords))
                    self.assertEqual([bits(batch) for batch in got], expected)
                    self.assertEqual({str(batch.dtype) for batch in got}, {f"torch.{name}"})
                    if "device" in keywords:
                        self.assertEqual({str(batch.device) for batch in got}, {"cuda:0"})
                    else:
                        self.assertEqual({batch.is_pinned() for batch in got}, {True})

    def test_all_structures_are_as_torchs_own_methods_leave_them(self):
        for keywords, move in (({"device": "cuda"}, lambda tensor: tensor.to("cuda")),
                               ({"pin_memory": True}, lambda tensor: tensor.pin_memory())):
            make = functools.partial(anything, wide="device" in keywords)
            for workers in (0, 2):
                with self.subTest(workers=workers, **keywords):
                    loader = self.loader(Shaped(make, 4), batch_size=1, collate_fn=first, num_workers=workers,
                                         **keywords)
                    for index, batch in enumerate(loader):
                        expected = make(index)
                        self.assertEqual(list(batch), list(expected))
                        for name, part in expected.items():
                            self.check(name, batch[name], part, move)
                        self.assertNotEqual(*(part.data_ptr() for part in batch["twice"]))

    def check(self, name, got, part, move):
        if isinstance(part, torch.Tensor):
            wanted = move(part)
            self.assertEqual((type(got), got.device, got.stride(), got.requires_grad, got.is_leaf, got.is_pinned())
                             if got.layout is torch.strided else got.device,
                             (type(wanted), wanted.device, wanted.stride(), wanted.requires_grad, wanted.is_leaf,
                              wanted.is_pinned()) if got.layout is torch.strided else wanted.device, name)
            self.assertTrue(torch.equal(got.to_dense().cpu(), part.to_dense()), name)
        elif isinstance(part, list):
            for one, other in zip(got, part, strict=True):
                self.check(name, one, other, move)
        elif isinstance(part, Pair):
            self.assertEqual((type(got), got.y), (Pair, part.y))
            self.check(name, got.x, part.x, move)
        elif isinstance(part, Record):
            self.assertEqual((type(got), got.y), (Record, part.y))
            self.check(name, got.x, part.x, move)
        elif isinstance(part, Own):
            self.check(name, got.tensor, part.tensor, move)
        else:
            self.assertEqual(features(got), features(part))

    def test_large_batches_of_changing_sizes(self):
        dataset = Shaped(lambda i: (torch.full(((i * 37 % 11) * MEGA // 2 + 3,), i, dtype=torch.uint8), i), 40)
        for keywords in ({"device": "cuda"}, {"pin_memory": True}):
            loader = self.loader(dataset, batch_size=None, **keywords)
            for _ in range(2):
                for index, (batch, number) in enumerate(loader):
                    self.assertEqual((int(number), batch.numel()), (index, (index * 37 % 11) * MEGA // 2 + 3))
                    self.assertEqual((int(batch.min()), int(batch.max())), (index, index))


def large(count=24, numbers=MEGA):
    """Sample i is `numbers` float32 of value i."""
    return Shaped(lambda i: torch.full((numbers,), float(i)), count)


class StreamsTest(WorkersTest):
    def test_a_busy_stream_reads_what_it_was_given(self):
        spin, sums = torch.randn(4096, 4096, device="cuda"), []
        for batch in self.loader(large(), batch_size=1, device="cuda", shuffle=False):
            for _ in range(3):
                spin = torch.tanh(spin @ spin)  # delays the read
            sums.append((batch.min() + 0 * spin[0, 0], batch.max()))
            del batch  # its memory may serve another batch as soon as this stream has read it
        self.assertEqual([(float(low), float(high)) for low, high in sums], [(i, i) for i in range(24)])

    def test_many_batches_may_be_kept_and_written_to(self):
        kept = []
        for batch in self.loader(large(), batch_size=1, device="cuda"):
            batch += 1
            kept.append(batch)
        self.assertEqual([(float(batch.min()), float(batch.max())) for batch in kept],
                         [(i + 1, i + 1) for i in range(24)])

    def test_a_side_stream(self):
        side, sums = torch.cuda.Stream(), []
        spin = torch.randn(2048, 2048, device="cuda")
        with torch.cuda.stream(side):
            for batch in self.loader(large(), batch_size=1, device="cuda"):
                spin = torch.tanh(spin @ spin)
                sums.append(batch.sum() + 0 * spin[0, 0])
                del batch
        side.synchronize()
        self.assertEqual([float(total) for total in sums], [float(i) * MEGA for i in range(24)])

    def test_streams_that_change_from_batch_to_batch(self):
        streams, sums = [torch.cuda.Stream() for _ in range(3)], []
        spin = torch.randn(2048, 2048, device="cuda")
        torch.cuda.synchronize()
        iterator = iter(self.loader(large(), batch_size=1, device="cuda"))
        for number in range(24):
            with torch.cuda.stream(streams[number % 3]):
                batch = next(iterator)
                busy = torch.tanh(spin @ spin) @ spin
                sums.append(batch.max() + 0 * busy[0, 0])
                del batch, busy
        torch.cuda.synchronize()
        self.assertEqual([float(total) for total in sums], [float(i) for i in range(24)])

    def test_inference_mode_ends_with_its_batch(self):
        iterator = iter(self.loader(large(6), batch_size=1, device="cuda"))
        with torch.inference_mode():
            for _ in range(2):
                next(iterator)
        self.assertFalse(next(iterator).is_inference())

    def test_default_device_and_autograd_do_not_matter(self):
        torch.set_default_device("cuda")
        self.addCleanup(torch.set_default_device, None)
        expected = [[i, 0] for i in range(4)]
        dataset = Shaped(lambda i: (torch.full((MEGA,), float(i), device="cpu"), torch.zeros(0, device="cpu")), 4)
        for keywords in ({"device": "cuda"}, {"pin_memory": True}, {}):
            loader = self.loader(dataset, batch_size=None, **keywords)
            got = [[float(batch.max()), rest.numel()] for batch, rest in loader]
            self.assertEqual(got, expected)


class MemoryTest(WorkersTest):
    def test_what_is_kept_counts_and_nothing_stays(self):
        gc.collect()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        loader = self.loader(large(24), batch_size=1, device="cuda")
        kept = [batch for _, batch in zip(range(5), loader)]
        counted = torch.cuda.memory_allocated() - before
        self.assertGreaterEqual(counted, 5 * 4 * MEGA)
        self.assertLessEqual(counted, (5 + 1 + 2) * 4 * MEGA)  # one more was taken by zip, and two are ahead
        del kept
        loader.close()
        gc.collect()
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_a_full_epoch_needs_no_more_than_a_few_batches(self):
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved()
        torch.cuda.reset_peak_memory_stats()
        for batch in self.loader(large(200), batch_size=1, device="cuda"):
            batch.sum()
        self.assertLessEqual(torch.cuda.max_memory_reserved() - before, 40 * MEGA)

    def test_no_memory_is_an_error_in_its_turn_and_no_batch_is_lost(self):
        loader = self.loader(large(8, 64 * MEGA), batch_size=1, device="cuda", max_batch_bytes=1 << 30)
        iterator = iter(loader)
        self.assertEqual(float(next(iterator).max()), 0)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info()
        hog = torch.empty(free - 128 * MEGA, dtype=torch.uint8, device="cuda")
        with self.assertRaises(torch.cuda.OutOfMemoryError):
            for _ in range(4):
                next(iterator)
        at = loader.state_dict()["consumed"]
        del hog
        torch.cuda.empty_cache()
        self.assertEqual([float(batch.max()) for batch in iterator], list(range(at, 8)))

    def test_closing_with_batches_on_their_way(self):
        for _ in range(5):
            loader = self.loader(large(24, 4 * MEGA), batch_size=1, device="cuda")
            iterator = iter(loader)
            next(iterator), next(iterator)
            loader.close()
            fresh = torch.full((4, 4 * MEGA), 7., device="cuda"), torch.full((4 * MEGA,), 7., device="cuda")
            torch.cuda.synchronize()  # they may lie where those batches were to go
            self.assertEqual([(float(each.min()), float(each.max())) for each in fresh], [(7, 7)] * 2)


class PositionTest(WorkersTest):
    def test_epochs_and_states_are_those_of_the_cpu(self):
        here = self.loader(Numbers(), num_workers=0, batch_size=3, shuffle=True)
        expected = [[plain(batch) for batch in here] for _ in range(3)]
        for keywords in ({"device": "cuda"}, {"device": "auto"}, {"device": "cuda:0", "persistent_workers": True}):
            loader = self.loader(Numbers(), batch_size=3, shuffle=True, **keywords)
            self.assertEqual([[plain(batch) for batch in on_cpu(loader)] for _ in range(3)], expected)
        for taken in (1, 2, 4):
            loader = self.loader(Numbers(), batch_size=3, shuffle=True, device="cuda")
            iterator = iter(loader)
            for _ in range(taken):
                next(iterator)
            other = self.loader(Numbers(), batch_size=3, shuffle=True, device="cuda")
            other.load_state_dict(loader.state_dict())
            self.assertEqual([plain(batch) for batch in on_cpu(other)], expected[0][taken:])

    def test_streams_resume_behind_the_batch_that_was_given(self):
        whole = [plain(batch) for batch in self.loader(Stateful(), batch_size=3)]
        for taken in range(1, len(whole)):
            loader = self.loader(Stateful(), batch_size=3, device="cuda")
            iterator = iter(loader)
            for _ in range(taken):
                next(iterator)
            other = self.loader(Stateful(), batch_size=3, device="cuda")
            other.load_state_dict(loader.state_dict())
            self.assertEqual([plain(batch) for batch in on_cpu(other)], whole[taken:])
        self.assertEqual(len(list(self.loader(Counting(), batch_size=3, device="cuda"))), 8)

    def test_exceptions_come_in_their_turn(self):
        iterator = iter(self.loader(Failing([3]), batch_size=1, device="cuda"))
        got = []
        for _ in range(20):
            try:
                got.append(int(next(iterator)))
            except ValueError as error:
                self.assertIn("sample 3 is bad", str(error))
                got.append("raised")
        self.assertEqual(got, [0, 1, 2, "raised", *range(4, 20)])

    def test_a_device_that_is_not_there(self):
        with self.assertRaisesRegex(Exception, "torch sees"):
            next(iter(self.loader(Numbers(), batch_size=3, device="cuda:63")))


class WorkersAndCudaTest(WorkersTest):
    def test_a_dataset_on_the_gpu_is_refused_in_words(self):
        there = torch.arange(8., device="cuda")
        for make in (lambda i: there[i], lambda i: there[2:], lambda i: torch.zeros(2, device="cuda") + i):
            for size in (2, None):
                with self.assertRaisesRegex(RuntimeError, "tried to use CUDA|workers have no GPU"):
                    list(self.loader(Shaped(make, 8), batch_size=size, device="cuda"))

    def test_a_model_trains_and_its_process_forks_meanwhile(self):
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        dataset = Shaped(lambda i: (torch.rand(3, 32, 32), i % 10), 256)
        loader = self.loader(dataset, batch_size=32, shuffle=True, device="cuda")
        for _ in range(3):
            for images, labels in loader:
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        self.assertTrue(torch.isfinite(loss))

    def test_a_graph_may_be_captured_between_two_batches(self):
        kept = torch.zeros(4 * MEGA, device="cuda")
        iterator = iter(self.loader(large(12, 4 * MEGA), batch_size=1, device="cuda"))
        for number in range(12):
            batch = next(iterator)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                total = kept.sum()
            kept.copy_(batch[0])
            graph.replay()
            self.assertEqual(float(total), float(number) * 4 * MEGA)


class PaceTest(WorkersTest):
    def test_the_loop_hardly_waits_for_a_large_batch_that_is_ready(self):
        dataset = Shaped(lambda i: torch.zeros(38 * MEGA, dtype=torch.uint8), 40)
        loader = self.loader(dataset, batch_size=None, device="cuda")
        iterator, times = iter(loader), []
        for _ in range(8):
            next(iterator)
        for _ in range(20):
            time.sleep(0.1)  # the workers make what follows
            began = time.perf_counter()
            batch = next(iterator)
            times.append(time.perf_counter() - began)
            torch.cuda.synchronize()
        print(f"next() for 38 MB: {sorted(times)[10] * 1000:.2f} ms (median)", file=sys.stderr)
        self.assertLess(sorted(times)[10], 0.003)  # to copy it in this thread would take 5 ms
        del batch


def on_cpu(loader):
    for batch in loader:
        yield [part.cpu() if isinstance(part, torch.Tensor) else part for part in batch]


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Tests penstock.torch on GPUs: memory ownership, streams, ranks with NCCL, several GPUs."""
import gc
import os
import subprocess
import sys
import textwrap

import support

torch = support.need("torch")
if not torch.cuda.is_available():
    support.skip("no GPU: torch sees none")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

CROP = [penstock.RandomResizedCrop(64), penstock.HorizontalFlip(), penstock.Normalize("imagenet")]


class TorchGpuTest(support.FeedTest):
    def loader(self, **keywords):
        loader = penstock.torch.DataLoader(
            self.photographs, **{"batch_size": 10, "shuffle": True, "transform": CROP, "timeout": 60, **keywords})
        self.addCleanup(loader.close)
        return loader

    def test_every_type_layout_and_delivery_is_the_hosts_to_the_bit(self):
        for dtype in ("float32", "float16", "bfloat16", "uint8"):
            for layout in ("NCHW", "NHWC"):
                asked = {"dtype": dtype, "layout": layout,
                         "transform": CROP[:2] if dtype == "uint8" else CROP}
                expected = [(batch["image"], batch["label"]) for batch in self.loader(**asked)]
                for delivery in ("device", "pinned"):
                    with self.subTest(dtype=dtype, layout=layout, delivery=delivery):
                        loader = self.loader(device="cuda", delivery=delivery, **asked)
                        for (image, label), batch in zip(expected, loader, strict=True):
                            self.assertEqual(batch["image"].device.type, "cuda")
                            self.assertTrue(torch.equal(batch["image"].cpu(), image))
                            self.assertTrue(torch.equal(batch["label"].cpu(), label))
                        self.assertIn(delivery, repr(loader))

    def test_the_allocator_counts_delivered_tensors_and_nothing_else(self):
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
        loader = self.loader(device="cuda")
        kept = [batch for _, batch in zip(range(5), loader)]

        wanted = sum(tensor.numel() * tensor.element_size() for batch in kept for tensor in batch.values())
        counted = torch.cuda.memory_allocated() - before

        self.assertGreaterEqual(counted, wanted)
        self.assertLess(counted, wanted + 2 * 5 * 512)  # torch rounds each allocation up to 512 bytes
        del kept
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.assertEqual(torch.cuda.memory_allocated(), before)
        self.assertLessEqual(torch.cuda.memory_reserved(), reserved)

    def test_a_tensor_used_on_another_stream_long_after_keeps_its_bytes(self):
        host, loader = self.loader(), self.loader(device="cuda")
        expected = [batch["image"] for _ in range(3) for batch in host]
        side, sums = torch.cuda.Stream(), []
        spin = torch.randn(4096, 4096, device="cuda")
        for _ in range(3):
            for batch in loader:
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    spin = torch.tanh(spin @ spin)  # delays the read
                    sums.append(batch["image"].double().sum())
                batch["image"].record_stream(side)
        torch.cuda.synchronize()

        self.assertEqual(len(sums), len(expected))
        for got, image in zip(sums, expected):
            self.assertAlmostEqual(float(got), float(image.double().sum()), places=3)

    def test_batches_come_on_whatever_stream_is_current(self):
        expected = [batch["image"] for batch in self.loader()]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            got = [batch["image"] * 1 for batch in self.loader(device="cuda")]
        stream.synchronize()

        for image, batch in zip(expected, got, strict=True):
            self.assertTrue(torch.equal(batch.cpu(), image))

    def test_the_current_device_is_taken_at_the_first_iteration(self):
        loader = self.loader(device="cuda")
        last = torch.cuda.device_count() - 1
        with torch.cuda.device(last):
            batch = next(iter(loader))

        self.assertEqual(batch["image"].device.index, last)

    def test_a_model_trains(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                                    torch.nn.Flatten(), torch.nn.Linear(8, 10)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = self.loader(device="cuda")
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        self.assertTrue(torch.isfinite(loss))

    def test_a_cuda_graph_reads_memory_that_batches_are_put_into(self):
        kept = torch.empty(10, 3, 64, 64, device="cuda")
        graph, total = torch.cuda.CUDAGraph(), None
        with torch.cuda.graph(graph):
            total = kept.sum()
        expected = [float(batch["image"].sum()) for batch in self.loader()]

        for batch, wanted in zip(self.loader(device="cuda"), expected, strict=True):
            kept.copy_(batch["image"])
            graph.replay()
            self.assertAlmostEqual(float(total) / 1000, wanted / 1000, places=3)

    # Several GPUs

    def needs_two(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("this machine has one GPU")

    def test_one_process_feeds_several(self):
        self.needs_two()
        expected = [batch["image"] for batch in self.loader()]
        loaders = [self.loader(device=f"cuda:{index}") for index in range(2)]

        for image, *batches in zip(expected, *loaders, strict=True):
            for index, batch in enumerate(batches):
                self.assertEqual(batch["image"].device.index, index)
                self.assertTrue(torch.equal(batch["image"].cpu(), image))

    def test_data_parallel_scatters(self):
        self.needs_two()
        model = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, 10)).cuda())
        for batch in self.loader(device="cuda:0"):
            out = model(batch["image"])

        self.assertEqual(out.shape, (10, 10))

    def test_torchrun_with_nccl(self):
        ranks = min(2, torch.cuda.device_count())
        text = textwrap.dedent("""
            import os, sys, torch, torch.distributed, penstock, penstock.torch
            torch.distributed.init_process_group("nccl")
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
            loader = penstock.torch.DataLoader(sys.argv[1], batch_size=10, shuffle=True, drop_last=True, device="cuda",
                                               transform=[penstock.RandomResizedCrop(64)])
            mine = [int(i) for batch in loader for i in batch.sample_ids]
            count = torch.tensor([len(mine)], device="cuda")
            torch.distributed.all_reduce(count)
            out = [None] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(out, mine)
            assert count.item() == 100 and len(set(sum(out, []))) == 100, out
            if torch.distributed.get_rank() == 0: print("shared by", len(out))
            torch.distributed.destroy_process_group()
            """)
        path = os.path.join(self.folder, "train.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        held = iter(self.loader(batch_size=5))
        next(held)  # or the daemon leaves while torch starts, which takes longer than its patience
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone",
                               f"--nproc_per_node={ranks}", path, self.photographs],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=150)

        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"shared by {ranks}", done.stdout)


if __name__ == "__main__":
    support.main()

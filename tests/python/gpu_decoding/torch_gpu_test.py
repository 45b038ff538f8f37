"""Tests decode="gpu" of penstock.torch: the same samples, crops and order as the workers', pixels that differ a little."""
import itertools
import os
import pathlib
import shutil
import sys
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
import penstock  # noqa: E402  (before CUDA is used)

torch = support.need("torch")
if not torch.cuda.is_available():
    support.skip("no GPU: torch sees none")

import penstock.torch  # noqa: E402

CROP = [penstock.RandomResizedCrop(64), penstock.HorizontalFlip()]
ROWS = 10


class GpuDecodingTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            with penstock.torch.DataLoader(cls.photographs, ROWS, transform=CROP, device="cuda", decode="gpu") as loader:
                next(iter(loader))
        except penstock.FailedPrecondition as error:
            support.skip(f"the GPU cannot decode: {error}")

    def loader(self, photographs=None, **keywords):
        loader = penstock.torch.DataLoader(
            photographs or self.photographs, **{"batch_size": ROWS, "shuffle": True, "transform": CROP, "timeout": 60, "dtype": "uint8",
                                                "device": "cuda", **keywords})
        self.addCleanup(loader.close)
        return loader

    @staticmethod
    def taken(loader):
        """[(sample ids, labels, images)] of an epoch, on the host."""
        return [(batch.sample_ids.tolist(), batch["label"].tolist(), batch["image"].cpu()) for batch in loader]

    def test_an_epoch_has_the_workers_samples_and_nearly_their_pixels(self):
        for got, workers in zip(self.taken(self.loader(decode="gpu")), self.taken(self.loader()), strict=True):
            self.assertEqual(got[:2], workers[:2])
            apart = (got[2].int() - workers[2].int()).abs()
            self.assertLess(float(apart.float().mean()), 3.0)
            self.assertFalse(torch.equal(got[2], workers[2]))  # the engines did decode

    def test_a_share_is_of_samples_and_the_rest_is_the_workers_to_the_byte(self):
        whole = self.by_sample(self.loader(decode="gpu", seed=3))
        half = self.by_sample(self.loader(decode="gpu", gpu_share=0.5, seed=3))
        workers = self.by_sample(self.loader(seed=3))
        of_gpu = {sample for sample in half if torch.equal(half[sample], whole[sample])}
        of_workers = {sample for sample in half if torch.equal(half[sample], workers[sample])}

        self.assertEqual(of_gpu | of_workers, set(workers))
        self.assertGreater(len(of_gpu - of_workers), len(workers) // 4)
        self.assertGreater(len(of_workers - of_gpu), len(workers) // 4)

    def rows(self, loader):
        return [(sample, image) for ids, _, images in self.taken(loader) for sample, image in zip(ids, images)]

    def by_sample(self, loader):
        return dict(self.rows(loader))

    def test_the_same_seed_gives_the_same_bytes_again(self):
        once, again = (self.taken(self.loader(decode="gpu", gpu_share=0.7)) for _ in range(2))
        for one, other in zip(once, again, strict=True):
            self.assertEqual(one[:2], other[:2])
            self.assertTrue(torch.equal(one[2], other[2]))

    def test_types_and_layouts_are_finished_from_the_same_bytes(self):
        steps = [*CROP, penstock.Normalize("imagenet")]
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in (steps[-1].mean, steps[-1].std))
        for dtype in (torch.float32, torch.bfloat16):
            for memory_format in (torch.contiguous_format, torch.channels_last):
                loader = self.loader(decode="gpu", transform=steps, dtype=dtype, memory_format=memory_format)
                for batch, (_, _, raw) in zip(loader, self.taken(self.loader(decode="gpu")), strict=True):
                    expected = ((raw.float() / 255 - mean) / std).to(dtype)
                    torch.testing.assert_close(batch["image"].cpu(), expected)
                    self.assertTrue(batch["image"].is_contiguous(memory_format=memory_format))

    def test_a_state_goes_on_and_knows_its_share(self):
        whole = self.taken(self.loader(decode="gpu", gpu_share=0.5))
        first = self.loader(decode="gpu", gpu_share=0.5)
        batches = iter(first)
        for _ in range(4):
            next(batches)
        state = first.state_dict()
        self.assertEqual(state["gpu_share"], 0.5)
        for asked in ({"decode": "gpu", "gpu_share": 0.5}, {"decode": "auto"}):
            resumed = self.loader(**asked)
            resumed.load_state_dict(state)
            for got, wanted in zip(self.taken(resumed), whole[4:], strict=True):
                self.assertEqual(got[:2], wanted[:2])
                self.assertTrue(torch.equal(got[2], wanted[2]))
        for asked in ({}, {"decode": "gpu"}):
            with self.assertRaises(penstock.InvalidArgument):
                self.loader(**asked).load_state_dict(state)
        other = self.loader(decode="gpu")
        other.load_state_dict({**state, "fingerprint": 0})
        self.assertEqual(len(self.taken(other)), len(whole) - 4)

    def test_the_fingerprint_knows_where_pixels_come_from(self):
        state = self.loader(decode="gpu", gpu_share=0.5)
        next(iter(state))
        kept = {**state.state_dict(), "gpu_share": 1.0}  # a lie
        loader = self.loader(decode="gpu")
        loader.load_state_dict(kept)
        with self.assertRaises(penstock.Error):
            next(iter(loader))

    def test_damaged_files_cost_themselves_alone(self):
        damaged = os.path.join(self.folder, "damaged")
        shutil.copytree(self.photographs, damaged, dirs_exist_ok=True)
        paths = sorted(pathlib.Path(damaged).rglob("*.jp*g"))
        for place, path in enumerate(paths[::9]):
            content = bytearray(path.read_bytes())
            middle = len(content) // 2
            if place % 3 == 0:
                content = content[:middle]  # ends in the middle
            elif place % 3 == 1:
                content[middle:middle + 64] = bytes(64)
            else:
                content[middle:middle + 64] = bytes(range(192, 256))
            path.write_bytes(content)
        intact = self.by_sample(self.loader(decode="gpu", shuffle=False))
        with self.assertWarns(penstock.BadSampleWarning):
            got = self.rows(self.loader(damaged, decode="gpu", shuffle=False))
        hurt = set(range(0, len(paths), 9))
        self.assertLessEqual(set(intact) - hurt, {sample for sample, _ in got})
        replaced = {sample for sample, image in got if sample not in hurt and not torch.equal(image, intact[sample])}
        again = [sample for sample, _ in got]
        for sample in replaced:  # in place of a bad one, with that row's crop, beside its own
            self.assertEqual(again.count(sample), 2, sample)

    def test_a_cuda_graph_reads_memory_that_batches_are_put_into(self):
        kept = torch.empty(ROWS, 3, 64, 64, device="cuda", dtype=torch.uint8)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            total = kept.sum(dtype=torch.int64)
        for (_, _, images), batch in zip(self.taken(self.loader(decode="gpu")), self.loader(decode="gpu"), strict=True):
            kept.copy_(batch["image"])
            graph.replay()
            self.assertEqual(int(total), int(images.sum(dtype=torch.int64)))

    def test_a_loop_that_waits_is_given_a_share(self):
        loader = self.loader(decode="auto", batch_size=2)
        seconds = itertools.count()  # one for each batch, until the engines help
        with mock.patch.object(loader, "_waited", lambda: 0.0 if loader._gpu_share.value else next(seconds)):
            for epoch in range(1000):
                for _ in loader:
                    pass
                if loader._gpu_share.is_chosen:
                    break
        share = loader.state_dict()["gpu_share"]
        self.assertGreater(share, 0)
        fixed = self.loader(decode="gpu", gpu_share=share, batch_size=2)
        fixed.set_epoch(epoch + 1)
        for got, wanted in zip(self.taken(loader), self.taken(fixed), strict=True):
            self.assertEqual(got[:2], wanted[:2])
            self.assertTrue(torch.equal(got[2], wanted[2]))

    def test_two_loaders_and_every_device(self):
        for device in range(torch.cuda.device_count()):
            loaders = [self.loader(decode="gpu", device=f"cuda:{device}") for _ in range(2)]
            for one, other in zip(*loaders, strict=True):
                self.assertEqual(one["image"].device.index, device)
                self.assertTrue(torch.equal(one["image"], other["image"]))

    def test_memory_beyond_pixel_delivery_is_bounded(self):
        def used(**asked):
            torch.cuda.synchronize()
            before = torch.cuda.mem_get_info()[0]
            loader = self.loader(**asked)
            for _ in loader:
                pass
            torch.cuda.synchronize()
            taken = before - torch.cuda.mem_get_info()[0]
            loader.close()
            return taken

        used(decode="gpu")  # what libraries keep for the process
        self.assertLessEqual(used(decode="gpu") - used(delivery="pinned"), 512 << 20)


if __name__ == "__main__":
    support.main()

"""Tests that a sample's random numbers depend on seed, epoch and sample alone, and are those that the text promises."""
import os
import random
import subprocess
import sys
import unittest

from slots import support

numpy = support.need("numpy")
try:
    import torch
except ImportError:
    torch = None

import penstock  # noqa: E402
from penstock._pydata import generators, philox, seeding  # noqa: E402
from penstock._pydata.seeding import Seeds, rng  # noqa: E402


def draws(index=0):
    """Numbers of all generators."""
    drawn = [index, random.random(), random.gauss(0, 1), numpy.random.rand(), numpy.random.randn(), rng().random()]
    return drawn + ([float(torch.rand(())), int(torch.randperm(1000)[0])] if torch else [])


class PhiloxTest(unittest.TestCase):
    def test_known_answers(self):
        """Those that Random123 publishes for philox4x32-10; tests/unit/base/philox_test.cc has them, too."""
        ones = 2**32 - 1
        for counter, key, words in (
                ((0, 0, 0, 0), 0, (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)),
                ((ones, ones, ones, ones), 2**64 - 1, (0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd)),
                ((0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), 0x299f31d0a4093822,
                 (0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1))):
            self.assertEqual(philox.philox(counter, key), words)

    def test_a_block_is_what_the_specification_of_crops_draws_under_its_own_operation(self):
        words = support.draw()["words"]
        for seed, epoch, sample in ((0, 0, 0), (5, 3, 7), (2**64 - 1, 2**32 + 1, 2**63 + 5)):
            a, b, c, d = words(philox.SAMPLE, seed, epoch, sample)
            self.assertEqual(philox.block(seed, epoch, sample, philox.SAMPLE), a | b << 32 | c << 64 | d << 96)

    def test_no_two_uses_of_the_counter_meet(self):
        self.assertGreater(min(philox.SAMPLE, philox.BATCH, philox.WORKER, philox.ITEMS), 11)  # 0 to 10: crops, 11: orders by weight
        blocks = {philox.block(seed, epoch, number, operation) for seed in range(3) for epoch in range(3)
                  for number in range(50) for operation in (12, 13, 14, 15)}
        self.assertEqual(len(blocks), 3 * 3 * 50 * 4)


class SeedsTest(unittest.TestCase):
    def test_a_sample_sees_the_generators_as_the_text_says(self):
        for number in (0, 9, 2**40):
            bits = philox.block(5, 2, number, philox.SAMPLE)
            source = numpy.random.SFC64()
            source.state = {"bit_generator": "SFC64", "has_uint32": 0, "uinteger": 0,
                            "state": {"state": numpy.array([bits & 2**64 - 1, bits >> 64, 0x9E3779B97F4A7C15, 1], "uint64")}}
            words = source.random_raw(640)[16:].view("uint32")
            random.setstate((3, (*words[:624].tolist(), 624), None))
            numpy.random.set_state(("MT19937", words[624:], 624))
            if torch:
                torch.default_generator.manual_seed(bits >> 64 & 2**63 - 1)
            own = numpy.random.Generator(numpy.random.Philox(key=bits))
            expected = [1, random.random(), random.gauss(0, 1), numpy.random.rand(), numpy.random.randn(), own.random()]
            expected += [float(torch.rand(())), int(torch.randperm(1000)[0])] if torch else []

            self.assertEqual(Seeds(5).run(2, number, draws, 1), expected)

    def test_samples_do_not_depend_on_what_was_made_before(self):
        alone = [Seeds(1).run(0, number, draws) for number in range(40)]
        seeds = Seeds(1)
        together = {number: seeds.run(0, number, draws) for number in sorted(range(40), key=lambda n: n * 17 % 40)}

        self.assertEqual([together[number] for number in range(40)], alone)
        self.assertEqual(len({tuple(drawn) for drawn in alone}), 40)

    def test_nor_on_the_number_of_workers(self):
        def by(workers):
            found = {}
            for worker in range(workers):
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.close(read)
                    seeds = Seeds(3)
                    lines = [(number, seeds.run(1, number, draws)) for number in range(worker, 24, workers)]
                    os.write(write, repr(lines).encode())
                    os._exit(0)
                os.close(write)
                with os.fdopen(read) as pipe:
                    found.update(eval(pipe.read()))
                os.waitpid(pid, 0)
            return found

        self.assertEqual(by(1), by(3))

    def test_seed_epoch_and_sample_all_count(self):
        base = Seeds(1).run(1, 1, draws)
        for seed, epoch, number in ((2, 1, 1), (1, 2, 1), (1, 1, 2)):
            other = Seeds(seed).run(epoch, number, draws)
            self.assertTrue(all(a != b for a, b in zip(base[1:6], other[1:6])), (seed, epoch, number))

    def test_no_generator_is_another_ones_double(self):
        drawn = Seeds(0).run(0, 0, lambda: (random.random(), numpy.random.rand(), rng().random()))

        self.assertEqual(len(set(drawn)), 3)

    def test_a_batch_and_a_worker_have_numbers_of_their_own(self):
        seeds = Seeds(0)

        self.assertEqual(len({tuple(seeds.run(0, 0, draws, operation=operation)) for operation in
                              (seeding.SAMPLE, seeding.BATCH, seeding.WORKER, seeding.ITEMS)}), 4)

    def test_a_sample_within_a_sample_is_refused(self):
        seeds = Seeds(0)

        with self.assertRaisesRegex(penstock.FailedPrecondition, "already"):
            seeds.run(0, 0, lambda: seeds.run(0, 1, draws))
        self.assertEqual(seeds.run(0, 1, draws), Seeds(0).run(0, 1, draws))

    def test_an_exception_passes_and_leaves_order(self):
        seeds = Seeds(0)
        expected = seeds.run(0, 1, draws)

        def fails():
            raise KeyError("no such sample")

        with self.assertRaisesRegex(KeyError, "no such sample"):
            seeds.run(0, 0, fails)
        self.assertEqual(seeds.run(0, 1, draws), expected)
        self.assertIsNone(seeding._bits)


class CallsTest(unittest.TestCase):
    def test_a_sample_is_made_once_whatever_it_draws_and_whenever_it_begins_to(self):
        draw = {"random": random.random, "many words": lambda: random.getrandbits(32 * 624 * 3), "gauss": lambda: random.gauss(0, 1),
                "numpy": lambda: numpy.random.rand(624).tolist(), "normal": lambda: [numpy.random.randn() for _ in range(3)],
                "choice": lambda: int(numpy.random.choice(10**6)), "own seed": lambda: (random.seed(5), random.random())[1]}
        for name, each in draw.items():
            seeds, calls = Seeds(4), []

            def make(number):
                calls.append(number)
                return each() if number >= 300 and number % 3 == 0 else None

            made = [seeds.run(0, number, make, number) for number in range(400)]

            with self.subTest(name=name):
                self.assertEqual(calls, list(range(400)))
                for number in range(300, 400, 3):
                    self.assertEqual(made[number], Seeds(4).run(0, number, each))

    def test_the_states_that_a_program_had_are_kept(self):
        random.gauss(0, 1), numpy.random.randn()  # each leaves the second of a pair behind
        before = random.getstate(), numpy.random.get_state(), torch.get_rng_state() if torch else None
        seeds = Seeds(0)
        with seeds:
            for number in range(3):
                seeds.run(0, number, draws)
        kept = random.getstate(), numpy.random.get_state(), torch.get_rng_state() if torch else None
        self.assertEqual(kept[0], before[0])
        self.assertEqual((kept[1][1].tolist(), kept[1][2:]), (before[1][1].tolist(), before[1][2:]))
        if torch:
            self.assertTrue(torch.equal(kept[2], before[2]))


class MemoryTest(unittest.TestCase):
    """What is written into the generators' memory is what the public calls of the text do."""

    class Unknown:
        """As in an interpreter whose memory is laid out differently."""

        def __enter__(self):
            self.kept = generators._state_of_python, generators._normal_of_numpy
            generators._state_of_python = generators._normal_of_numpy = lambda *_: None

        def __exit__(self, *_):
            generators._state_of_python, generators._normal_of_numpy = self.kept

    def test_it_is_the_same_where_memory_is_unknown(self):
        fast = [Seeds(7).run(1, number, draws) for number in range(20)]
        with self.Unknown():
            seeds = Seeds(7)
            self.assertEqual([seeds.run(1, number, draws) for number in range(20)], fast)
            with seeds:
                self.assertEqual(seeds.run(1, 3, draws), fast[3])

    @unittest.skipUnless(sys.implementation.name == "cpython", "only CPython's memory is known")
    def test_here_the_memory_is_known(self):
        states = generators.states()
        self.assertIsNotNone(states._words)
        self.assertIsNotNone(generators.PythonRandom(random, states)._memory)
        self.assertIsNotNone(generators.NumpyRandom(numpy, states)._memory)

    def test_without_numpy_the_module_random_is_seeded_by_the_bits(self):
        generator = generators.PythonRandom(random, None)
        generator.seed(2**100 + 3)
        self.assertEqual(random.random(), random.Random(2**100 + 3).random())


class BitGeneratorTest(unittest.TestCase):
    def test_another_bit_generator_is_seeded_too(self):
        """Whether the program chose it before the first sample or later."""
        for kind in ("MT19937", "PCG64", "Philox"):
            said = support.script(
                "import numpy, sys\n"
                "if not hasattr(numpy.random, 'set_bit_generator'): print('True skipped'); raise SystemExit\n"
                "from penstock._pydata.seeding import Seeds\n"
                "late = Seeds(0); late.run(0, 0, numpy.random.rand)\n"
                f"numpy.random.set_bit_generator(numpy.random.{kind}(3))\n"
                "early = Seeds(0)\n"
                "a, b = ([s.run(0, n, numpy.random.rand) for n in range(50)] for s in (early, late))\n"
                "print(a == b and len(set(a)) == 50 and a[7] == Seeds(0).run(0, 7, numpy.random.rand))\n"
                "was = numpy.random.mtrand._rand._bit_generator.state\n"
                "with late: late.run(0, 1, numpy.random.rand)\n"
                "print(str(was) == str(numpy.random.mtrand._rand._bit_generator.state))\n")
            with self.subTest(kind=kind):
                self.assertEqual(set(said.split()) - {"skipped"}, {"True"})


class ImportsTest(unittest.TestCase):
    def run_script(self, text):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_torch_is_not_imported_for_its_generator(self):
        said = self.run_script("import sys\nfrom penstock._pydata.seeding import Seeds\n"
                               "Seeds(0).run(0, 0, lambda: None)\nprint('torch' in sys.modules)")
        self.assertEqual(said, ["False"])

    def test_modules_that_a_sample_imports_are_seeded_before_its_draws(self):
        said = self.run_script(
            "from penstock._pydata.seeding import Seeds\n"
            "def make():\n    import random, numpy\n    return random.random(), numpy.random.rand()\n"
            "s = Seeds(0); a = s.run(0, 5, make); print(a == s.run(0, 5, make) == Seeds(0).run(0, 5, make))")
        self.assertEqual(said, ["True"])

    def test_rng_imports_numpy_when_it_is_called(self):
        said = self.run_script("import sys\nfrom penstock._pydata.seeding import rng\n"
                               "print('numpy' in sys.modules, rng() is rng(), 'numpy' in sys.modules)")
        self.assertEqual(said, ["False", "True", "True"])


class RngTest(unittest.TestCase):
    def test_outside_of_samples_it_is_an_ordinary_generator(self):
        self.assertIs(rng(), rng())
        self.assertIsInstance(rng(), numpy.random.Generator)
        self.assertNotIn(rng(), [Seeds(0).run(0, 0, rng)])

    def test_a_forked_process_gets_another_one(self):
        rng()
        read, write = os.pipe()
        if (pid := os.fork()) == 0:
            os.write(write, repr(rng().random()).encode())
            os._exit(0)
        os.waitpid(pid, 0)

        self.assertNotEqual(float(os.read(read, 100)), rng().random())

    def test_within_a_sample_it_goes_on(self):
        def make():
            return rng() is rng(), rng().random(), rng().random()

        same, first, second = Seeds(0).run(0, 3, make)

        self.assertTrue(same)
        self.assertNotEqual(first, second)


if __name__ == "__main__":
    support.main()

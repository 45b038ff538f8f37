"""Tests the OpenMetrics page of a running daemon with the reference parser: openmetrics_test.py [-v] PROGRAMS."""
import gzip
import pathlib
import sys
import unittest
import urllib.request

try:
    from prometheus_client.openmetrics import parser
except ImportError:
    print("SKIPPED: build/venv has no prometheus-client; tests/python/venv.sh installs it")
    sys.exit(77)

PROGRAMS = pathlib.Path(sys.argv.pop())

import node  # noqa: E402

ACCEPT = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
DISTRIBUTIONS = ("sample_read", "sample_decode", "batch_hand_over", "batch_ready", "trainer_wait")


class OpenMetricsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = node.Node(PROGRAMS, photographs=60, config="workers: {count: 1}", prometheus=False)
        cls.addClassCleanup(cls.node.__exit__)
        cls.node.trainer(environment={"TRACEPARENT": f"00-{TRACE}-00f067aa0ba902b7-01"})
        cls.node.trainer("--batch", "3")
        if not node.until(lambda: "penstock_trainer_wait_seconds_count" in cls.node.page()):
            raise RuntimeError("no batch was observed")

    def ask(self, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.node.port}/metrics", headers=headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.headers, answer.read()

    def families(self):
        headers, body = self.ask(Accept=ACCEPT)
        self.assertEqual(headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        return {family.name: family for family in parser.text_string_to_metric_families(body.decode())}

    def test_the_reference_parser_reads_the_page(self):
        families = self.families()
        self.assertGreater(len(families), 60)
        self.assertEqual(families["penstock_samples_decoded"].type, "counter")
        for name in DISTRIBUTIONS:
            self.assertEqual(families[f"penstock_{name}_seconds"].type, "histogram")
        for name, family in families.items():
            self.assertTrue(family.documentation, name)

    def test_an_exemplar_names_a_session_and_the_trace_in_which_it_was_opened(self):
        def traced():
            buckets = self.families()["penstock_batch_ready_seconds"].samples
            found = [sample.exemplar for sample in buckets if sample.exemplar]
            return [exemplar for exemplar in found if exemplar.labels.get("trace_id") == TRACE]

        self.assertTrue(node.until(traced))
        self.assertTrue(all(int(exemplar.labels["session"]) > 0 for exemplar in traced()))
        log = (self.node.folder / "penstockd.log").read_text()
        self.assertRegex(log, rf"event=session_traced session=\d+ trace_id={TRACE} parent_id=00f067aa0ba902b7")

    def test_both_formats_name_the_same_series(self):
        def series(text):
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            return {line.partition(" # ")[0].rpartition(" ")[0] for line in lines}

        def same():
            return series(self.ask(Accept=ACCEPT)[1].decode()) == series(self.node.page())

        self.assertTrue(node.until(same))

    def test_who_does_not_ask_gets_the_text_format_without_exemplars(self):
        headers, body = self.ask(Accept="*/*")
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertNotIn(b" # {", body)
        self.assertNotIn(b"# EOF", body)
        self.assertIsNone(headers["Content-Encoding"])

    def test_gzip_is_what_it_says_and_much_smaller(self):
        headers, packed = self.ask(**{"Accept": ACCEPT, "Accept-Encoding": "gzip"})
        self.assertEqual(headers["Content-Encoding"], "gzip")
        self.assertEqual(int(headers["Content-Length"]), len(packed))
        text = gzip.decompress(packed)
        self.assertTrue(text.endswith(b"# EOF\n"))
        self.assertLess(len(packed), len(text) / 4)


if __name__ == "__main__":
    unittest.main()

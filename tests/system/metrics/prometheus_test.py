"""Tests Debian's Prometheus with a running daemon: prometheus_test.py [-v] SOURCE PROGRAMS."""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop()).resolve()
if not shutil.which("prometheus") or not shutil.which("promtool"):
    print("SKIPPED: prometheus is not installed; deploy/install-deps.sh --tests installs it")
    sys.exit(77)

import node  # noqa: E402

DASHBOARD = SOURCE / "deploy/grafana/penstock.json"
ALERTS = SOURCE / "deploy/grafana/alerts.yml"
SCRAPES = 12  # one second each, before the panels are evaluated
# Only a GPU provides these; the imaginary node has two.
FROM_THE_MADE_NODE = r"_gpu_"


class PrometheusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = node.Node(PROGRAMS, photographs=120, config="workers: {count: 1}", made=True, alerts=ALERTS)
        node.spoil(cls.node.photographs, 2)
        cls.node.trainer()
        cls.real = f"127.0.0.1:{cls.node.port}"
        if not node.until(lambda: cls.scraped() >= SCRAPES, 60):
            raise RuntimeError("Prometheus did not scrape")

    @classmethod
    def tearDownClass(cls):
        cls.node.__exit__()

    @classmethod
    def value(cls, query):
        result = cls.node.ask("query", query=query)["result"]
        return float(result[0]["value"][1]) if result else None

    @classmethod
    def scraped(cls):
        return cls.value(f'count_over_time(penstock_ready{{instance="{cls.real}"}}[5m])') or 0

    def test_both_nodes_are_scraped_without_a_complaint(self):
        targets = self.node.ask("targets")["activeTargets"]
        self.assertEqual([t["health"] for t in targets], ["up", "up"], targets)
        self.assertEqual([t["lastError"] for t in targets], ["", ""])
        for target in targets:
            self.assertLess(target["lastScrapeDuration"], 0.5)

    def test_promtool_finds_nothing_wrong_with_the_pages(self):
        made = subprocess.check_output([PROGRAMS / "penstock-made-metrics", "100"], text=True)
        for page in (self.node.page(), made):
            checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def test_every_panels_queries_give_data(self):
        queries = 0
        for panel in node.panels(DASHBOARD):
            for target in panel["targets"]:
                gpu = re.search(FROM_THE_MADE_NODE, target["expr"])
                query = node.expression(target["expr"], "10s", ".*" if gpu else self.real)
                result = self.node.ask("query", query=query)["result"]
                self.assertTrue(result, f"{panel['title']}: {query}")
                for each in result:
                    self.assertRegex(each["value"][1], r"^-?[0-9.e+-]+$", f"{panel['title']}: {query}")
                queries += 1
        self.assertGreater(queries, 30)

    def test_a_panels_numbers_are_those_of_the_daemon(self):
        rate = self.value(f'sum(rate(penstock_samples_decoded_total{{instance="{self.real}"}}[10s]))')
        self.assertGreater(rate, 1)
        self.assertEqual(self.value(f'penstock_dataset_samples{{instance="{self.real}",dataset="photographs"}}'), 120)
        self.assertEqual(self.value(f'sum(penstock_bad_samples{{instance="{self.real}"}})'), 2)
        # One worker feeds one trainer that takes every batch at once: its session is always open, and it starves.
        whole = self.value(f'sum(rate(penstock_session_open_seconds_total{{instance="{self.real}"}}[10s]))')
        self.assertAlmostEqual(whole, 1, delta=0.2)
        decoding = self.value(f'rate(penstock_stage_seconds_total{{instance="{self.real}",stage="decode"}}[10s])')
        self.assertTrue(0.01 < decoding < 1.1, decoding)  # the lower, the busier the machine
        self.assertEqual(self.value('sum(rate(penstock_gpu_copied_bytes_total[10s])) > bool 1e9'), 1)

    def test_every_alert_rule_is_evaluated_and_none_fires(self):
        rules = [rule for group in self.node.ask("rules")["groups"] for rule in group["rules"]]
        self.assertEqual(len(rules), len(re.findall("- (?:alert|record):", ALERTS.read_text())))
        for rule in rules:
            self.assertEqual(rule["health"], "ok", rule)
            self.assertNotEqual(rule.get("state"), "firing", rule)

    def test_the_number_of_series_is_bounded(self):
        series = self.value(f'count({{instance="{self.real}", __name__=~"(penstock|process)_.*"}})')
        self.assertLess(series, 300)  # five distributions have 18 each


if __name__ == "__main__":
    unittest.main()

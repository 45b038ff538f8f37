"""grafana_test.py [-v] SOURCE: the dashboard and the alert rules, without a daemon. tests/system/metrics tests
them with a running Prometheus."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("SKIPPED: python3-yaml is not installed; deploy/install-deps.sh --tests installs it")
    sys.exit(77)

SOURCE = pathlib.Path(sys.argv.pop()).resolve()
ALERTS = SOURCE / "deploy/grafana/alerts.yml"
DASHBOARD = SOURCE / "deploy/grafana/penstock.json"
HEALTHY = pathlib.Path(__file__).with_name("alerts_test.yml")
PROMTOOL = shutil.which("promtool")
RUNBOOKS = SOURCE / "deploy/runbooks"
GROUPS = {"penstock_slo", "penstock_slo_measures"}  # of rules
NODE = 'job="penstock", instance="node7"'

# For each alert: the series that make it fire, the time at which it fires, a part of its summary,
# and its additional labels.
FIRE = {
    "PenstockDown": ({"up": "1 0x20"}, "2m", "systemctl status penstockd", {}),
    "PenstockNotReady": ({"penstock_ready": "0x20"}, "3m", "penstockctl status", {}),
    "PenstockDraining": ({"penstock_draining": "1x400"}, "361m", "shows who is left", {}),
    "PenstockRunnerStuck": ({"penstock_runner_last_pass_age_seconds": "0+30x20"}, "2m",
                            "has been stuck for 1m 0s: restart it", {}),
    "PenstockRestarting": ({"process_start_time_seconds": "1 2 3 4x20"}, "3m", "was started 3 times", {}),
    "PenstockSourceStalled": ({"penstock_longest_stall_seconds": "0+30x20"}, "3m",
                              "has not responded for 1m 30s: look at the file server", {}),
    "PenstockWorkersMissing": ({"penstock_workers_running": "7x20", "penstock_workers_wanted": "8x20"}, "6m",
                               "penstockctl workers", {}),
    "PenstockWorkersDie": ({"penstock_worker_restarts_total": "0+1x20"}, "10m", "died 10 times", {}),
    "PenstockForbiddenCall": ({"penstock_forbidden_calls_total": "0 1x20"}, "10m", "event=forbidden_call", {}),
    "PenstockSandboxOff": ({"penstock_workers_sandboxed": "0x20"}, "6m", "workers.sandbox: off", {}),
    "PenstockBadSamples": ({'penstock_bad_samples{reason="truncated",dataset="flowers"}': "4x20",
                            'penstock_bad_samples{reason="empty",dataset="flowers"}': "3x20",
                            'penstock_dataset_samples{dataset="flowers"}': "10000x20"}, "6m",
                           "7 samples of flowers are bad", {"dataset": "flowers"}),
    "PenstockDecodingTooSlow": ({"penstock_ready_batches": "0x30", "penstock_window_batches": "8x30",
                                 "penstock_workers_busy_ratio": "0.97x30"}, "11m", "workers.count", {}),
    "PenstockTrainersStarve": ({'penstock_session_starved_seconds_total{dataset="flowers"}': "0+30x30",
                                'penstock_session_open_seconds_total{dataset="flowers"}': "0+60x30"}, "21m",
                               "sleep without a batch 50% of the time", {"dataset": "flowers"}),
    "PenstockPoolFull": ({"penstock_pool_reserved_bytes": "95x30", "penstock_pool_max_bytes": "100x30"}, "11m",
                         "is 95% reserved", {}),
    "PenstockSessionsFull": ({"penstock_connections": "95x20", "penstock_connections_max": "100x20",
                              "penstock_sessions_open": "1x20", "penstock_sessions_max": "100x20"}, "6m",
                             "server.max_connections", {}),
    "PenstockDescriptorsFull": ({"process_open_fds": "95x20", "process_max_fds": "100x20"}, "6m",
                                "LimitNOFILE=", {}),
    "PenstockGpuUnusable": ({'penstock_gpu_serving{gpu="GPU-1"}': "0x20"}, "2m", "GPU-1 on node7",
                            {"gpu": "GPU-1"}),
    "PenstockGpuMemoryFull": ({'penstock_gpu_slab_bytes{gpu="GPU-1"}': "99x30",
                               'penstock_gpu_slab_max_bytes{gpu="GPU-1"}': "100x30"}, "11m", "raise gpu.max",
                              {"gpu": "GPU-1"}),
    "PenstockLogLinesLost": ({"penstock_log_lines_lost_total": "0 3x20"}, "5m", "systemd-journald", {}),
    "PenstockBatchWaitFastBurn": ({'penstock_trainer_wait_seconds_bucket{dataset="flowers", le="0.25"}': "0+48x70",
                                   'penstock_trainer_wait_seconds_count{dataset="flowers"}': "0+60x70"}, "65m",
                                  "20% of the batches of flowers", {"dataset": "flowers"}),
    "PenstockBatchWaitSlowBurn": ({'penstock_trainer_wait_seconds_bucket{dataset="flowers", le="0.25"}': "0+54x400",
                                   'penstock_trainer_wait_seconds_count{dataset="flowers"}': "0+60x400"}, "365m",
                                  "10% of the batches of flowers", {"dataset": "flowers"}),
    "PenstockStarvedFastBurn": ({'penstock_session_starved_seconds_total{dataset="flowers"}': "0+48x70",
                                 'penstock_session_open_seconds_total{dataset="flowers"}': "0+60x70"}, "65m",
                                "slept 80% of their time", {"dataset": "flowers"}),
    "PenstockStarvedSlowBurn": ({'penstock_session_starved_seconds_total{dataset="flowers"}': "0+24x400",
                                 'penstock_session_open_seconds_total{dataset="flowers"}': "0+60x400"}, "365m",
                                "slept 40% of their time", {"dataset": "flowers"}),
    "PenstockMetricsRefused": ({'penstock_scrapes_failed_total{reason="dropped"}': "0+600x30"}, "11m",
                               "10 connections a second", {"reason": "dropped"}),
}


def all_rules():
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def rules():
    return [rule for rule in all_rules() if "alert" in rule]


def with_node(series):
    name, brace, labels = series.partition("{")
    return f"{name}{{{NODE}{', ' + labels if brace else '}'}"


def promtool(*arguments):
    ended = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True)
    return ended.returncode, ended.stdout + ended.stderr


class GrafanaTest(unittest.TestCase):
    def test_every_alert_has_a_severity_and_says_what_to_do(self):
        for rule in rules():
            self.assertIn(rule["labels"]["severity"], ("critical", "warning"), rule["alert"])
            self.assertIn("{{ $labels.instance }}", rule["annotations"]["summary"], rule["alert"])
            self.assertRegex(rule["annotations"]["summary"], r"look at|`|raise|give|bind", rule["alert"])
            self.assertTrue(rule["annotations"]["description"].endswith("."), rule["alert"])

    def test_every_alert_leads_to_its_page_and_every_page_to_an_alert(self):
        listed = (RUNBOOKS / "README.md").read_text()
        for rule in rules():
            url = rule["annotations"]["runbook_url"]
            self.assertEqual(url, f"file:///usr/share/doc/penstock/deploy/runbooks/{rule['alert']}.md")
            page = (RUNBOOKS / f"{rule['alert']}.md").read_text()
            self.assertTrue(page.startswith(f"# {rule['alert']}\n"))
            for part in ("**What it means.**", "**What it does.**", "## Look", "## Act"):
                self.assertIn(part, page, rule["alert"])
            self.assertIn(f"]({rule['alert']}.md)", listed)
        self.assertEqual({page.stem for page in RUNBOOKS.glob("*.md")} - {"README"},
                         {rule["alert"] for rule in rules()})

    def test_each_objective_burns_in_a_long_and_a_short_window(self):
        recorded = {rule["record"] for rule in all_rules() if "record" in rule}
        burning = [rule for rule in rules() if rule["alert"].endswith("Burn")]
        self.assertEqual(len(burning), 4)
        for rule in burning:
            used = re.findall(r"penstock:\w+:ratio_rate\w+", rule["expr"])
            self.assertEqual(len(set(used)), 2, rule["alert"])
            self.assertLessEqual(set(used), recorded)

    def test_every_command_and_key_that_is_named_exists(self):
        text = ALERTS.read_text() + DASHBOARD.read_text() + "".join(p.read_text() for p in RUNBOOKS.glob("*.md"))
        commands = (SOURCE / "client/ctl/command_table.cc").read_text()
        for command in re.findall(r"penstockctl ([a-z]+(?: list| clear)?)", text):
            self.assertIn(f'{{"{command}",', commands, command)
        example = (SOURCE / "deploy/config/penstock.yaml").read_text()
        for section, key in re.findall(r"\b(server|pool|workers|source|limits|gpu)\.([a-z_]+)", text):
            self.assertRegex(example, rf"(?ms)^{section}:.*^  {key}:", f"{section}.{key}")

    def test_every_metric_that_is_named_is_one_of_the_daemons(self):
        code = "".join(p.read_text() for p in (SOURCE / "server/status").glob("*.cc"))
        text = "".join(p.read_text() for p in (DASHBOARD, ALERTS, *RUNBOOKS.glob("*.md")))
        named = set(re.findall(r"\b(?:penstock|process)_[a-z_]+\b", text)) - GROUPS
        for name in named:
            short = re.sub("_seconds_(bucket|count|sum)$", "_seconds", name.removeprefix("penstock_"))
            self.assertIn(f'"{short}"', code, name)
        self.assertGreater(len(named), 35)

    def test_panels_have_titles_descriptions_and_places_of_their_own(self):
        panels = [p for p in json.loads(DASHBOARD.read_text())["panels"] if p["type"] != "row"]
        for panel in panels:
            self.assertTrue(panel["description"].endswith("."), panel["title"])
            self.assertTrue(panel["targets"], panel["title"])
            self.assertIn("unit", panel["fieldConfig"]["defaults"], panel["title"])
        for column in ("id", "title"):
            self.assertEqual(len({p[column] for p in panels}), len(panels), column)
        places = {(x, y) for p in panels for x in range(p["gridPos"]["x"], p["gridPos"]["x"] + p["gridPos"]["w"])
                  for y in range(p["gridPos"]["y"], p["gridPos"]["y"] + p["gridPos"]["h"])}
        self.assertEqual(len(places), sum(p["gridPos"]["w"] * p["gridPos"]["h"] for p in panels))
        self.assertLess(max(x for x, _ in places), 24)


@unittest.skipIf(PROMTOOL is None, "promtool is not installed; deploy/install-deps.sh --tests installs it")
class PromtoolTest(unittest.TestCase):
    def test_the_rules_are_valid(self):
        code, output = promtool("check", "rules", str(ALERTS))
        self.assertEqual(code, 0, output)
        self.assertIn(f"{len(all_rules())} rules found", output)

    def run_tests(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "test.yml")
            file.write_text(text)
            code, output = promtool("test", "rules", str(file))
        self.assertNotIn("no file match", output)
        return code, output

    def test_a_healthy_node_fires_none(self):
        text = HEALTHY.read_text()
        for rule in rules():
            self.assertIn(f"alertname: {rule['alert']}}}", text)
        code, output = self.run_tests(text.replace("{rules}", str(ALERTS)))
        self.assertEqual(code, 0, output)

    # The expectations omit the annotations, so promtool fails and prints the alert that it got,
    # which the test then checks.
    def test_each_alert_fires(self):
        self.assertEqual(sorted(FIRE), sorted(rule["alert"] for rule in rules()))
        for rule in rules():
            series, when, summary, labels = FIRE[rule["alert"]]
            inputs = [{"series": with_node(name), "values": values} for name, values in series.items()]
            expected = {"exp_labels": {"job": "penstock", "instance": "node7",
                                       "severity": rule["labels"]["severity"], **labels}}
            test = {"interval": "1m", "input_series": inputs,
                    "alert_rule_test": [{"eval_time": when, "alertname": rule["alert"], "exp_alerts": [expected]}]}
            code, output = self.run_tests(yaml.safe_dump({"rule_files": [str(ALERTS)], "tests": [test]}))
            got = output.partition("got:")[2]
            self.assertNotEqual(code, 0, "the annotations were not given, so promtool shows them")
            for label, value in expected["exp_labels"].items():
                self.assertIn(f'{label}="{value}"', got, f"{rule['alert']} does not fire: {output}")
            self.assertIn(summary, got, rule["alert"])
            self.assertNotRegex(got, r"{{|<no value>|error", rule["alert"])


if __name__ == "__main__":
    unittest.main()

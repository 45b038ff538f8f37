"""Checks the files of deploy/container and deploy/kubernetes with the programs that read them or with those
programs' published schemas, and against each other: manifests_test.py [-v] SOURCE BUILD."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

import dockerfile

BUILD = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop())
CONTAINER = SOURCE / "deploy/container"
KUBERNETES = SOURCE / "deploy/kubernetes"
MiB = 2**20
UNITS = {"Mi": MiB, "Gi": 2**30, "MiB": MiB, "GiB": 2**30, "g": 2**30}
GROUP = 7741


def tools():
    found = subprocess.run([SOURCE / "tests/support/manifest_tools.sh", BUILD], text=True, capture_output=True)
    if found.returncode:
        raise unittest.SkipTest(found.stderr.strip().splitlines()[-1].removeprefix("SKIPPED: "))
    return pathlib.Path(found.stdout.strip())


def size(text):
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * UNITS[unit]


def least_memory(configuration):
    """Returns the memory that a daemon needs, by the formula in deploy/container/README.md."""
    workers = configuration["workers"]["count"]
    return size(configuration["pool"]["max"]) + 64 * MiB + 64 * MiB * workers


def accepted(configuration):
    return subprocess.run([BUILD / "bin/penstockd", "--check-syntax", configuration], text=True, capture_output=True)


class DockerfileTest(unittest.TestCase):
    def setUp(self):
        self.text = (CONTAINER / "Dockerfile").read_text()
        self.stages = dockerfile.stages(self.text)

    def test_hadolint_has_nothing_against_it(self):
        judged = subprocess.run([tools() / "hadolint", CONTAINER / "Dockerfile"], text=True, capture_output=True)

        self.assertEqual(judged.returncode, 0, judged.stdout)

    def test_hadolint_would_have_said_so(self):
        judged = subprocess.run([tools() / "hadolint", "-"], input="FROM debian\nRUN cd /\n", text=True,
                                capture_output=True)

        self.assertNotEqual(judged.returncode, 0)

    def test_the_base_is_pinned_by_digest_and_every_image_is_made_of_it(self):
        base = dict(word.split("=", 1) for word in [dockerfile.last(self.stages[""], "ARG")])["BASE"]

        self.assertRegex(base, r"^debian:bookworm-\d{8}-slim@sha256:[0-9a-f]{64}$")
        for name in ("build", "trainer", "penstock"):
            self.assertTrue(self.stages[name][0][1].startswith("${BASE} "), name)

    def test_each_image_says_what_it_is_in_ocis_words(self):
        version = re.search(r"project\(penstock VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertIn(("ARG", f"VERSION={version}"), self.stages[""])
        for name in ("trainer", "penstock"):
            self.assertIn(("ARG", "BASE VERSION REVISION"), self.stages[name])
            labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]*)"', dockerfile.last(self.stages[name], "LABEL")))
            self.assertEqual(set(labels), {"title", "description", "licenses", "version", "revision", "base.name"})
            self.assertEqual((labels["version"], labels["revision"], labels["licenses"]),
                             ("${VERSION}", "${REVISION}", "Apache-2.0"))

    def test_no_image_is_run_by_root(self):
        for name in ("trainer", "penstock"):
            user, group = dockerfile.last(self.stages[name], "USER").split(":")
            self.assertNotIn(user, ("0", "root"))
            self.assertEqual(int(group), GROUP)


class ComposeTest(unittest.TestCase):
    def setUp(self):
        self.text = (CONTAINER / "compose.yaml").read_text()
        self.services = yaml.safe_load(self.text)["services"]

    def judge(self, text):
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)  # variables' defaults, as compose substitutes them
        return subprocess.run([tools() / "python", "-c",
                               "import sys, compose_spec as c; c.PyCompose.from_yaml(sys.stdin.read()).validate()"],
                              input=text, text=True, capture_output=True)

    def test_they_keep_to_the_compose_specification(self):
        for name in ("compose.yaml", "compose.gpu.yaml"):
            judged = self.judge((CONTAINER / name).read_text())
            self.assertEqual(judged.returncode, 0, judged.stderr)

    def test_what_the_specification_does_not_know_is_refused(self):
        self.assertNotEqual(self.judge(self.text.replace("read_only:", "readonly:")).returncode, 0)
        self.assertNotEqual(self.judge(self.text.replace("  socket:\n  state:", "  state:")).returncode, 0)

    def test_daemon_and_trainer_share_the_sockets_volume_and_nothing_else(self):
        mounted = {name: {volume.split(":")[0] for volume in service["volumes"]}
                   for name, service in self.services.items()}

        self.assertEqual(mounted["penstock"] & mounted["trainer"], {"socket"})
        self.assertIn("/run/penstock-admin:uid=7741,gid=7741,mode=0700", self.services["penstock"]["tmpfs"])
        self.assertEqual(self.services["trainer"]["tmpfs"], ["/tmp"])
        for service in self.services.values():
            for shared in ("pid", "ipc", "privileged", "cap_add", "userns_mode", "devices"):
                self.assertNotIn(shared, service)

    def test_nobody_has_privileges_or_a_root_to_write_to(self):
        for name, service in self.services.items():
            self.assertTrue(service["read_only"], name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"], name)
            self.assertEqual(service["network_mode"], "none", name)

    def test_its_configuration_is_right_and_its_memory_is_enough(self):
        judged = accepted(CONTAINER / "penstock.yaml")
        configuration = yaml.safe_load((CONTAINER / "penstock.yaml").read_text())

        self.assertEqual(judged.returncode, 0, judged.stderr)
        self.assertGreater(size(self.services["penstock"]["mem_limit"]), least_memory(configuration))


class KubernetesTest(unittest.TestCase):
    def setUp(self):
        self.daemon = yaml.safe_load((KUBERNETES / "base/daemonset.yaml").read_text())["spec"]
        self.pod = self.daemon["template"]["spec"]
        self.penstockd = self.pod["containers"][0]
        self.trainer = yaml.safe_load((KUBERNETES / "example/trainer.yaml").read_text())["spec"]
        self.configuration = yaml.safe_load((KUBERNETES / "base/penstock.yaml").read_text())

    def judge(self, *manifests):
        return subprocess.run([tools() / "python", "-m", "kubernetes_validate", "--strict", *manifests], text=True, capture_output=True)

    def test_every_manifest_keeps_to_kubernetes_published_schema(self):
        manifests = [path for path in KUBERNETES.glob("*/*.yaml")
                     if path.name not in ("kustomization.yaml", "penstock.yaml", "patch.yaml", "podmonitor.yaml") and path.parent.name != "gpu"]
        judged = self.judge(*manifests)

        self.assertGreaterEqual(len(manifests), 4)
        self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)

    def test_what_the_schema_does_not_know_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as wrong:
            wrong.write((KUBERNETES / "base/daemonset.yaml").read_text().replace("runAsNonRoot", "runAsNobody"))
            wrong.flush()
            self.assertNotEqual(self.judge(wrong.name).returncode, 0)

    def test_kustomize_makes_of_them_what_keeps_to_the_schema(self):
        if not shutil.which("kubectl"):
            self.skipTest("there is no kubectl, whose kustomize would put them together")
        for folder in ("base", "gpu"):
            made = subprocess.run(["kubectl", "kustomize", KUBERNETES / folder], text=True, capture_output=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as whole:
                whole.write(made.stdout)
                whole.flush()
                judged = self.judge(whole.name)
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
            kinds = {each["kind"]: each for each in yaml.safe_load_all(made.stdout)}
            pod = kinds["DaemonSet"]["spec"]["template"]["spec"]
            configuration = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
            self.assertEqual(configuration, [kinds["ConfigMap"]["metadata"]["name"]])
            self.assertEqual(pod["containers"][0]["image"], "penstock:0.1.0")
            self.assertEqual("runtimeClassName" in pod, folder == "gpu")

    def test_metrics_are_served_where_the_pod_monitor_scrapes_and_only_prometheus_comes_in(self):
        monitor = yaml.safe_load((KUBERNETES / "monitoring/podmonitor.yaml").read_text())
        policy = yaml.safe_load((KUBERNETES / "monitoring/networkpolicy.yaml").read_text())["spec"]
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        ports = {port["name"]: port["containerPort"] for port in self.penstockd["ports"]}
        labels = self.daemon["template"]["metadata"]["labels"] | {"app.kubernetes.io/name": "penstock"}

        self.assertEqual((monitor["apiVersion"], monitor["kind"]), ("monitoring.coreos.com/v1", "PodMonitor"))
        self.assertLessEqual(set(endpoint), {"port", "path", "interval", "relabelings"})
        self.assertEqual(self.configuration["server"]["metrics_address"], f"0.0.0.0:{ports[endpoint['port']]}")
        self.assertEqual(endpoint["path"], "/metrics")
        wanted = monitor["spec"]["selector"]
        self.assertEqual({key: labels[key] for key in wanted["matchLabels"]}, wanted["matchLabels"])
        for each in wanted["matchExpressions"]:
            self.assertIn(labels[each["key"]], each["values"])
        allowed, = policy["ingress"]
        self.assertEqual(allowed["ports"], [{"port": ports["metrics"], "protocol": "TCP"}])
        self.assertIn("from", allowed)

    def test_the_component_is_put_on_top_of_the_base(self):
        if not shutil.which("kubectl"):
            self.skipTest("there is no kubectl, whose kustomize would put them together")
        for base in ("base", "job"):
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(KUBERNETES, pathlib.Path(folder) / "kubernetes")
                overlay = pathlib.Path(folder) / "kubernetes/overlay"
                overlay.mkdir()
                (overlay / "kustomization.yaml").write_text(
                    f"namespace: here\nresources: [../{base}]\ncomponents: [../monitoring]\n")
                made = subprocess.run(["kubectl", "kustomize", overlay], text=True, capture_output=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            made = list(yaml.safe_load_all(made.stdout))
            kinds = [each["kind"] for each in made]
            self.assertEqual({each["metadata"].get("namespace", "here") for each in made}, {"here"})
            self.assertEqual(kinds.count("PodMonitor"), 1)
            self.assertEqual(kinds.count("NetworkPolicy"), 2)

    def test_the_daemon_set_owns_the_pods_that_it_makes(self):
        wanted = self.daemon["selector"]["matchLabels"]
        labels = self.daemon["template"]["metadata"]["labels"]

        self.assertEqual({key: labels.get(key) for key in wanted}, wanted)

    def test_containers_keep_to_the_restricted_standard(self):
        for pod in (self.pod, self.trainer):
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            for key in ("hostPID", "hostIPC", "hostNetwork"):
                self.assertNotIn(key, pod)
            for container in pod["containers"]:
                security = container["securityContext"]
                self.assertFalse(security["allowPrivilegeEscalation"])
                self.assertTrue(security["readOnlyRootFilesystem"])
                self.assertEqual(security["capabilities"], {"drop": ["ALL"]})

    def test_only_what_gives_folders_away_is_root_and_can_do_no_more(self):
        security = self.pod["initContainers"][0]["securityContext"]

        self.assertEqual(security["capabilities"], {"drop": ["ALL"], "add": ["CHOWN", "FOWNER"]})
        self.assertFalse(security["allowPrivilegeEscalation"])

    def test_the_trainer_shares_the_sockets_folder_and_nothing_else(self):
        paths = {volume["hostPath"]["path"] for volume in self.pod["volumes"] if "hostPath" in volume}
        trainers = [volume["hostPath"]["path"] for volume in self.trainer["volumes"]]

        self.assertEqual(trainers, ["/run/penstock"])
        self.assertNotIn("/run/penstock-admin", paths)
        self.assertIn("/run/penstock", paths)
        self.assertEqual(self.trainer["securityContext"]["supplementalGroups"], [GROUP])

    def test_its_configuration_is_right_and_fits_what_the_pod_has(self):
        judged = accepted(KUBERNETES / "base/penstock.yaml")
        resources = self.penstockd["resources"]

        self.assertEqual(judged.returncode, 0, judged.stderr)
        self.assertEqual(resources["requests"], resources["limits"])
        self.assertGreater(size(resources["limits"]["memory"]), least_memory(self.configuration))
        self.assertGreater(int(resources["limits"]["cpu"]), self.configuration["workers"]["count"])

    def test_probes_ask_where_health_is_answered_and_drains_are_waited_for(self):
        port = int(self.configuration["server"]["health_address"].split(":")[1])
        drain = int(self.configuration["server"]["drain_for"].removesuffix("s"))

        for probe in ("startupProbe", "readinessProbe"):
            self.assertEqual(self.penstockd[probe]["grpc"]["port"], port)
        self.assertEqual(self.penstockd["livenessProbe"]["exec"]["command"], ["penstockctl", "status"])
        self.assertGreater(self.pod["terminationGracePeriodSeconds"], drain + 10)


if __name__ == "__main__":
    unittest.main()

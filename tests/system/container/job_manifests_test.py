"""Checks deploy/kubernetes' job with shards in a store, with Kubernetes' published schemas and against itself:
job_manifests_test.py [-v] SOURCE BUILD."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

BUILD = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop())
KUBERNETES = SOURCE / "deploy/kubernetes"
FOLDERS = ("job", "job-web-identity")
MiB = 2**20
UNITS = {"Mi": MiB, "Gi": 2**30, "MiB": MiB, "GiB": 2**30}
FETCHING = 512 * MiB  # the default limit of requests under way
GROUP = 7741


def size(text):
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * UNITS[unit]


def tools():
    found = subprocess.run([SOURCE / "tests/support/manifest_tools.sh", BUILD], text=True, capture_output=True)
    if found.returncode:
        raise unittest.SkipTest(found.stderr.strip().splitlines()[-1].removeprefix("SKIPPED: "))
    return pathlib.Path(found.stdout.strip())


def named(items, name):
    [found] = [item for item in items if item["name"] == name]
    return found


class JobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("kubectl"):
            raise unittest.SkipTest("there is no kubectl, whose kustomize would put them together")
        cls.made, cls.objects = {}, {}
        for folder in FOLDERS:
            made = subprocess.run(["kubectl", "kustomize", KUBERNETES / folder], text=True, capture_output=True)
            if made.returncode:
                raise AssertionError(made.stderr)
            cls.made[folder] = made.stdout
            cls.objects[folder] = {each["kind"]: each for each in yaml.safe_load_all(made.stdout)}

    def each(self):
        """For every variant: its objects, the pod, the daemon, the trainer and the daemon's configuration."""
        for folder in FOLDERS:
            objects = self.objects[folder]
            pod = objects["Job"]["spec"]["template"]["spec"]
            configuration = yaml.safe_load(objects["ConfigMap"]["data"]["penstock.yaml"])
            yield (objects, pod, named(pod["initContainers"], "penstockd"), named(pod["containers"], "trainer"),
                   configuration)

    def judge(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return subprocess.run([tools() / "python", "-m", "kubernetes_validate", "--strict", file.name], text=True,
                                  capture_output=True)

    def test_what_kustomize_makes_keeps_to_the_schema(self):
        for folder in FOLDERS:
            judged = self.judge(self.made[folder])
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)

    def test_what_the_schema_does_not_know_is_refused(self):
        self.assertNotEqual(self.judge(self.made["job"].replace("completionMode", "completingMode")).returncode, 0)

    def test_pods_are_found_by_the_service_and_have_its_name_for_a_domain(self):
        for objects, pod, _, trainer, _ in self.each():
            service, job = objects["Service"], objects["Job"]
            labels = job["spec"]["template"]["metadata"]["labels"]
            self.assertEqual(service["spec"]["clusterIP"], "None")
            self.assertEqual({key: labels.get(key) for key in service["spec"]["selector"]}, service["spec"]["selector"])
            self.assertEqual(pod["subdomain"], service["metadata"]["name"])
            self.assertEqual(job["spec"]["completionMode"], "Indexed")
            endpoint = next(each for each in trainer["args"] if each.startswith("--rdzv-endpoint="))
            port = named(service["spec"]["ports"], "rendezvous")["port"]
            self.assertEqual(endpoint.split("=")[1], f"{job['metadata']['name']}-0.{pod['subdomain']}:{port}")
            most = next(each for each in trainer["args"] if each.startswith("--nnodes=")).rpartition(":")[2]
            self.assertEqual(int(most), job["spec"]["completions"])
            self.assertEqual(job["spec"]["completions"], job["spec"]["parallelism"])

    def test_the_daemon_is_a_sidecar_that_the_trainer_waits_for(self):
        for _, _, daemon, _, configuration in self.each():
            self.assertEqual(daemon["restartPolicy"], "Always")
            port = int(configuration["server"]["health_address"].rpartition(":")[2])
            self.assertEqual(daemon["startupProbe"]["grpc"]["port"], port)

    def test_every_volume_is_mounted_and_every_mount_has_a_volume(self):
        for _, pod, daemon, trainer, _ in self.each():
            mounted = {mount["name"] for container in (daemon, trainer) for mount in container["volumeMounts"]}
            self.assertEqual(mounted, {volume["name"] for volume in pod["volumes"]})

    def test_daemon_and_trainer_share_the_sockets_folder_and_nothing_else(self):
        for _, pod, daemon, trainer, configuration in self.each():
            both = [{mount["name"]: mount for mount in container["volumeMounts"]} for container in (daemon, trainer)]
            self.assertEqual(both[0].keys() & both[1].keys(), {"socket"})
            self.assertTrue(both[1]["socket"]["readOnly"])
            [address] = [each["value"] for each in trainer["env"] if each["name"] == "PENSTOCK_ADDRESS"]
            self.assertEqual(address, configuration["server"]["socket"])
            self.assertTrue(address.startswith(both[1]["socket"]["mountPath"] + "/"))
            self.assertIn(address, daemon["livenessProbe"]["exec"]["command"])
            operators = configuration["server"]["admin_socket"]
            self.assertTrue(operators.startswith(both[0]["operators"]["mountPath"] + "/"))
            # The daemon makes these folders, because the kubelet makes volumes for root.
            for path, volume in ((address, "socket"), (operators, "operators"),
                                 (configuration["server"]["state_dir"] + "/x", "state"),
                                 (configuration["stores"]["cache"] + "/x", "cache")):
                self.assertEqual(str(pathlib.Path(path).parent.parent), both[0][volume]["mountPath"])
            self.assertEqual(trainer["securityContext"]["runAsGroup"], GROUP)
            self.assertNotEqual(trainer["securityContext"]["runAsUser"], daemon["securityContext"]["runAsUser"])
            self.assertEqual(pod["securityContext"]["fsGroup"], GROUP)

    def test_keys_are_the_daemons_alone(self):
        for _, pod, daemon, trainer, configuration in self.each():
            self.assertFalse(pod["automountServiceAccountToken"])
            [place] = configuration["stores"]["places"]
            file = place.get("credentials_file") or place["token_file"]
            [store] = [mount for mount in daemon["volumeMounts"] if file.startswith(mount["mountPath"] + "/")]
            self.assertNotIn(store["name"], [mount["name"] for mount in trainer["volumeMounts"]])
            volume = named(pod["volumes"], store["name"])
            self.assertEqual(len(volume), 2, "one kind of volume")
            for dataset in configuration["datasets"]:
                for url in dataset["tar"]["shards"]:
                    self.assertTrue(url.startswith(place["url"]))

    def test_the_role_is_taken_with_a_token_for_sts(self):
        objects = self.objects["job-web-identity"]
        pod = objects["Job"]["spec"]["template"]["spec"]
        configuration = yaml.safe_load(objects["ConfigMap"]["data"]["penstock.yaml"])
        [place] = configuration["stores"]["places"]
        [source] = named(pod["volumes"], "store")["projected"]["sources"]
        self.assertEqual(place["credentials"], "web_identity")
        self.assertEqual(pathlib.Path(place["token_file"]).name, source["serviceAccountToken"]["path"])
        self.assertEqual(source["serviceAccountToken"]["audience"], "sts.amazonaws.com")
        self.assertEqual(pod["serviceAccountName"], objects["ServiceAccount"]["metadata"]["name"])

    def test_the_operators_port_is_where_the_service_says(self):
        objects = self.objects["job-web-identity"]
        pod = objects["Job"]["spec"]["template"]["spec"]
        server = yaml.safe_load(objects["ConfigMap"]["data"]["penstock.yaml"])["server"]
        port = int(server["admin_address"].rpartition(":")[2])
        daemon = named(pod["initContainers"], "penstockd")
        self.assertEqual(named(objects["Service"]["spec"]["ports"], "operators")["port"], port)
        self.assertEqual(named(daemon["ports"], "operators")["containerPort"], port)
        folder = named(daemon["volumeMounts"], "node-tls")["mountPath"]
        for key in ("admin_certificate", "admin_key", "admin_client_ca"):
            self.assertEqual(str(pathlib.Path(server[key]).parent), folder)
        self.assertNotIn("admin_address", yaml.safe_load(self.objects["job"]["ConfigMap"]["data"]["penstock.yaml"])["server"])

    def test_containers_keep_to_the_restricted_standard(self):
        for objects, pod, daemon, trainer, _ in self.each():
            namespace = objects["Namespace"]["metadata"]["labels"]
            self.assertEqual(namespace["pod-security.kubernetes.io/enforce"], "restricted")
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            for key in ("hostPID", "hostIPC", "hostNetwork"):
                self.assertNotIn(key, pod)
            for volume in pod["volumes"]:
                self.assertNotIn("hostPath", volume)
            for container in (daemon, trainer):
                security = container["securityContext"]
                self.assertFalse(security["allowPrivilegeEscalation"])
                self.assertTrue(security["readOnlyRootFilesystem"])
                self.assertEqual(security["capabilities"], {"drop": ["ALL"]})

    def test_the_configuration_is_right_and_fits_what_the_pod_has(self):
        for _, pod, daemon, _, configuration in self.each():
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                yaml.safe_dump(configuration, file)
                file.flush()
                judged = subprocess.run([BUILD / "bin/penstockd", "--check-syntax", file.name], text=True, capture_output=True)
            self.assertEqual(judged.returncode, 0, judged.stderr)
            workers = configuration["workers"]["count"]
            resources = daemon["resources"]
            self.assertEqual(resources["requests"], resources["limits"])
            self.assertGreater(size(resources["limits"]["memory"]),
                               size(configuration["pool"]["max"]) + 64 * MiB * (workers + 1) + FETCHING)
            self.assertGreater(int(resources["limits"]["cpu"]), workers)
            self.assertLess(size(configuration["stores"]["cache_max"]),
                            size(named(pod["volumes"], "cache")["emptyDir"]["sizeLimit"]))


if __name__ == "__main__":
    unittest.main()

"""Keys that servers give, against a store that checks them: where they come from, and what happens when they end."""
import pathlib
import sys
import tempfile
import threading
import time
import unittest

import store_client_test as client
from stores import key_server, processes, servers

OTHER = {"key": "AKIASECOND", "secret": "second/secret+of/tests", "token": "second-token=="}


class KeysCase(unittest.TestCase):
    def setUp(self):
        self.store = servers.FileStore(token="first-token==")
        self.addCleanup(self.store.close)
        self.store.put("names", "plain", b"plain")
        self.keys = key_server.KeyServer(self.store.key, self.store.secret, self.store.token)
        self.addCleanup(self.keys.close)
        folder = tempfile.TemporaryDirectory(prefix="penstock-keys-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def profile(self, key, secret, token=None):
        return self.write("credentials", f"[default]\naws_access_key_id={key}\naws_secret_access_key={secret}\n"
                          + (f"aws_session_token={token}\n" if token else ""))

    def read(self, environment, *more):
        """Without secrets in it, whatever happens."""
        lines = client.run(f"endpoint={self.store.endpoint}", "read", "s3://names/plain", 0, 5, *more,
                           environment={"AWS_EC2_METADATA_DISABLED": "false", **environment})
        for secret in (self.store.secret, self.store.token, key_server.IDENTITY, key_server.AUTHORIZATION):
            self.assertNotIn(secret, "\n".join(lines))
        return lines

    def expect_read(self, environment, *more):
        self.assertEqual(self.read(environment, *more)[:2], ["OK", b"plain".hex()])


class SourcesTest(KeysCase):
    def test_of_the_instance(self):
        self.expect_read(self.keys.metadata_environment())
        self.assertEqual([method for method, _ in self.keys.requests], ["PUT", "GET", "GET"])

    def test_of_the_container_by_a_token_or_a_file_with_it(self):
        self.expect_read(self.keys.container_environment())
        self.expect_read(self.keys.container_environment(self.write("token", key_server.AUTHORIZATION + "\n")))
        [status] = self.read(self.keys.container_environment(self.write("token", "wrong")))
        self.assertIn("the container's role: its server answered 403", status)

    def test_by_web_identity(self):
        self.expect_read(self.keys.identity_environment(self.write("jwt", key_server.IDENTITY)))
        [status] = self.read(self.keys.identity_environment(self.write("jwt", "other")))
        self.assertIn("STS answered 400 InvalidIdentityToken", status)

    def test_by_web_identity_from_motos_sts(self):
        try:
            moto = servers.Moto()
        except processes.Missing as error:
            self.skipTest(str(error))
        with moto:
            moto.put("names", "plain", b"plain")
            environment = {**self.keys.identity_environment(self.write("jwt", key_server.IDENTITY)),
                           "AWS_ENDPOINT_URL_STS": moto.endpoint}
            lines = client.run(f"endpoint={moto.endpoint}", "read", "s3://names/plain", 0, 5, environment=environment)
            self.assertEqual(lines[:2], ["OK", b"plain".hex()])

    def test_no_proxy_sees_the_keys_of_an_instance_or_a_container(self):
        proxy = key_server.KeyServer("x", "y")
        self.addCleanup(proxy.close)
        environment = {"http_proxy": proxy.endpoint, "all_proxy": proxy.endpoint, "no_proxy": "none.example"}
        for keys in (self.keys.metadata_environment(), self.keys.container_environment()):
            self.read({**environment, **keys})
        self.assertEqual([path for _, path in proxy.requests if self.keys.endpoint in path], [])
        self.assertNotEqual(proxy.requests, [], "the proxy was not used for the store")
        self.assertGreaterEqual(len(self.keys.requests), 4)

    def test_an_instance_that_does_not_answer_costs_two_seconds_and_requests_are_then_anonymous(self):
        self.keys.delay_s = 30
        begun = time.monotonic()
        [status] = self.read(self.keys.metadata_environment())
        self.assertLess(time.monotonic() - begun, 5)
        self.assertIn("PERMISSION_DENIED", status)
        self.assertIn("the request was not signed: no keys were found; instance metadata at", status)
        self.assertIn("hop limit", status)

    def test_anonymous_is_a_switch(self):
        [status] = self.read({"PENSTOCK_STORE_ANONYMOUS": "1", **self.keys.container_environment()})
        self.assertIn("not signed: PENSTOCK_STORE_ANONYMOUS is set", status)
        self.assertEqual(self.keys.requests, [])


class EndingTest(KeysCase):
    def later(self, seconds, action):
        timer = threading.Timer(seconds, action)
        timer.start()
        self.addCleanup(timer.join)

    def change_all(self):
        """The store takes only new keys, which whoever gives keys has, too."""
        self.keys.change(**OTHER)
        self.store.change_keys(**OTHER)

    def test_keys_that_a_store_refuses_are_renewed_once_by_all_readers_together(self):
        self.later(1.2, self.change_all)
        self.expect_read(self.keys.metadata_environment(), 20, 16, 150)
        self.assertEqual(self.keys.count("/latest/api/token"), 2)
        self.assertEqual(self.keys.most_at_once, 1)

    def test_keys_are_renewed_before_they_end(self):
        self.keys.lasts_s = 2
        self.expect_read(self.keys.metadata_environment(), 16, 4, 250)
        self.assertGreaterEqual(self.keys.count("/latest/api/token"), 2)
        refused = self.store.counts()["statuses"]
        self.assertEqual({status for status in refused if status not in ("200", "206")}, set(), refused)

    def test_while_renewing_fails_the_old_keys_are_used(self):
        self.keys.lasts_s = 6  # so they are renewed after 4.2 to 4.5 s
        self.later(0.3, lambda: setattr(self.keys, "fails", 500))
        self.expect_read(self.keys.metadata_environment(), 25, 4, 200)
        self.assertGreaterEqual(self.keys.count("/latest/api/token"), 2, "nobody tried to renew them")

    def test_keys_in_a_file_are_read_again_when_the_store_refuses_them(self):
        file = self.profile(self.store.key, self.store.secret, self.store.token)

        def rotate():
            self.profile(**OTHER)
            self.store.change_keys(**OTHER)

        self.later(1.5, rotate)
        self.expect_read({"AWS_SHARED_CREDENTIALS_FILE": file}, 30, 8, 100)

    def test_keys_that_cannot_be_renewed_are_an_error_that_says_whose_they_are(self):
        environment = {"AWS_ACCESS_KEY_ID": self.store.key, "AWS_SECRET_ACCESS_KEY": self.store.secret,
                       "AWS_SESSION_TOKEN": self.store.token}
        self.store.change_keys(**OTHER)
        [status] = self.read(environment)
        self.assertIn("400 ExpiredToken", status)
        self.assertIn("signed with the keys of AWS_ACCESS_KEY_ID", status)


if __name__ == "__main__":
    client.PROGRAM = sys.argv.pop(1)
    unittest.main()

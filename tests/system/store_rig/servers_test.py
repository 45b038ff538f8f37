"""The stores of tests/support/stores serve, list, count and refuse as S3 does."""
import datetime
import hashlib
import http.client
import pathlib
import ssl
import tempfile
import unittest
import urllib.parse
import urllib.request
import xml.etree.ElementTree

import rig
from stores import datasets, objects, processes, servers, sigv4

NAMES = ("plain", "with space", "plus+and&", "ümläut/deep/=;,", "per%25cent", "tilde~(x)!'*")


def listed(body):
    """Returns (keys, common prefixes, the next token or None) of a listing."""
    space = "{http://s3.amazonaws.com/doc/2006-03-01/}"
    root = xml.etree.ElementTree.fromstring(body)
    keys = [urllib.parse.unquote_plus(key.text) for key in root.iter(f"{space}Key")]
    prefixes = [part.find(f"{space}Prefix").text for part in root.iter(f"{space}CommonPrefixes")]
    return keys, prefixes, root.findtext(f"{space}NextContinuationToken")


class SignatureTest(unittest.TestCase):
    """Against the example in AWS's documentation, "GET Object"."""

    KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    MOMENT = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)
    URL = "http://examplebucket.s3.amazonaws.com/test.txt"

    def test_it_is_that_of_awss_example(self):
        signed = sigv4.sign("GET", self.URL, self.KEY, self.SECRET, headers={"Range": "bytes=0-9"},
                            now=self.MOMENT)

        self.assertTrue(signed["authorization"].endswith(
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))

    def test_the_presigned_one_is_that_of_awss_example(self):
        url = self.URL.replace("http:", "https:")

        signed = sigv4.presign("GET", url, self.KEY, self.SECRET, expires_s=86400, now=self.MOMENT)

        self.assertTrue(signed.endswith(
            "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"), signed)


class FileStoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = servers.FileStore(public=("open",))
        cls.addClassCleanup(cls.store.close)
        for name in NAMES:
            cls.store.put("names", name, name.encode())
        cls.store.put_pattern("open", "big", 50 << 30)

    def refused(self, **changes):
        """Returns the status and the S3 error code of a request that is signed wrongly."""
        kept = {name: getattr(self.store, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self.store, name, value)
            status, _, body = self.store.request("GET", "/names/plain")
        finally:
            for name, value in kept.items():
                setattr(self.store, name, value)
        return status, xml.etree.ElementTree.fromstring(body).findtext("Code")

    def test_any_key_can_be_read(self):
        for name in NAMES:
            status, headers, body = self.store.request("GET", "/names/" + urllib.parse.quote(name))

            self.assertEqual((status, body), (200, name.encode()))
            self.assertEqual(headers["etag"], f'"{hashlib.md5(name.encode()).hexdigest()}"')

    def test_signatures_are_checked(self):
        self.assertEqual(self.refused(secret="other"), (403, "SignatureDoesNotMatch"))
        self.assertEqual(self.refused(key="other"), (403, "InvalidAccessKeyId"))
        self.assertEqual(self.refused(region="eu-west-1"), (400, "AuthorizationHeaderMalformed"))
        self.assertEqual(self.refused(token="surplus"), (400, "InvalidToken"))
        self.assertEqual(rig.get(self.store.address, "/names/plain")[0], 403)

    def test_a_presigned_url_is_good_until_it_expires(self):
        url = f"{self.store.endpoint}/names/plain"
        now = datetime.datetime.now(datetime.timezone.utc)
        for age_s, status in ((0, 200), (700, 403)):
            signed = sigv4.presign("GET", url, self.store.key, self.store.secret,
                                   now=now - datetime.timedelta(seconds=age_s))
            self.assertEqual(rig.get(self.store.address, signed[len(self.store.endpoint):])[0], status)

    def test_listings_come_in_pages(self):
        keys, token = [], ""
        while token is not None:
            query = "list-type=2&max-keys=2&encoding-type=url"
            if token:
                query += "&continuation-token=" + urllib.parse.quote(token, safe="")
            found, _, token = listed(self.store.request("GET", f"/names?{query}")[2])
            self.assertLessEqual(len(found), 2)
            keys += found

        self.assertEqual(keys, sorted(NAMES))

    def test_a_delimiter_folds_keys_into_prefixes_over_pages(self):
        for number in range(20):
            self.store.put("folds", f"{number // 4}/{number}", b"x")
        query, entries, token = "list-type=2&delimiter=/&max-keys=3", [], None
        for _ in range(2):
            more = f"&continuation-token={urllib.parse.quote(token)}" if token else ""
            keys, prefixes, token = listed(self.store.request("GET", f"/folds?{query}{more}")[2])
            entries += keys + prefixes

        self.assertEqual(entries, ["0/", "1/", "2/", "3/", "4/"])
        self.assertIsNone(token)

    def test_ranges_of_fifty_gigabytes_are_the_patterns_and_are_counted(self):
        self.store.reset_counts()
        for first, count in ((0, 10), ((30 << 30) + 5, 3_000_000), ((50 << 30) - 7, 7)):
            span = f"bytes={first}-{first + count - 1}"
            status, headers, body, _ = rig.get(self.store.address, "/open/big", {"Range": span})

            self.assertEqual((status, len(body)), (206, count))
            self.assertEqual(body, objects.pattern(1, first, count))
            self.assertEqual(headers["content-range"], f"bytes {span[6:]}/{50 << 30}")
        counts = self.store.counts()
        self.assertEqual((counts["get"], counts["bytes"]), (3, 3_000_017))
        self.assertEqual(counts["objects"]["open/big"]["ranges"][2],
                         [(50 << 30) - 7, (50 << 30) - 1, 7])

    def test_conditions_and_ranges_that_do_not_hold(self):
        etag = rig.get(self.store.address, "/open/big", method="HEAD")[1]["etag"]
        for headers, status in (({"If-Match": etag, "Range": "bytes=1-2"}, 206),
                                ({"If-Match": '"other"', "Range": "bytes=1-2"}, 412),
                                ({"If-None-Match": etag}, 304),
                                ({"Range": f"bytes={50 << 30}-"}, 416)):
            self.assertEqual(rig.get(self.store.address, "/open/big", headers)[0], status, headers)

    def test_a_connection_stays(self):
        connection = http.client.HTTPConnection(*self.store.address, timeout=rig.WAIT_S)
        connection.request("HEAD", "/open/big")
        connection.getresponse().read()
        sock = connection.sock
        connection.request("GET", "/open/none")
        self.assertEqual(connection.getresponse().status, 404)
        self.assertIs(connection.sock, sock)
        connection.close()

    def test_a_multipart_etag_is_the_digest_of_the_parts_digests(self):
        etag = self.store.put("parts", "object", b"a" * 10, part_bytes=4)

        parts = b"".join(hashlib.md5(part).digest() for part in (b"aaaa", b"aaaa", b"aa"))
        self.assertEqual(etag, f'"{hashlib.md5(parts).hexdigest()}-3"')

    def test_tls_with_its_own_authority(self):
        with servers.FileStore(s3=False, tls=True) as store:
            store.put("b", "k", b"hidden" * 100_000)
            trust = ssl.create_default_context(cafile=store.certificate.ca)
            with urllib.request.urlopen(f"{store.endpoint}/b/k", context=trust, timeout=10) as found:
                self.assertEqual(found.read(), b"hidden" * 100_000)
            with self.assertRaises(urllib.error.URLError):
                urllib.request.urlopen(f"{store.endpoint}/b/k", timeout=10)


class DatasetTest(unittest.TestCase):
    def test_each_kind_arrives_whole_in_a_store(self):
        with tempfile.TemporaryDirectory() as place, servers.FileStore(public=("b",)) as store:
            for kind, make in datasets.KINDS.items():
                folder = make(pathlib.Path(place, kind), samples=200)
                files = [path for path in folder.rglob("*") if path.is_file()]
                self.assertEqual(store.put_folder("b", folder, f"{kind}/"), len(files))
                one = sorted(files)[-1]
                key = urllib.parse.quote(f"/b/{kind}/{one.relative_to(folder)}")
                self.assertEqual(rig.get(store.address, key)[2], one.read_bytes(), key)


class ForeignTest(unittest.TestCase):
    """Our signer and XML reader against servers that others wrote."""

    def check(self, make, checks_signatures, partial=206):
        try:
            store = make()
        except processes.Missing as missing:
            self.skipTest(str(missing))
        with store:
            store.put("names", "a b+c/ü", b"0123456789")
            path = "/names/" + urllib.parse.quote("a b+c/ü")
            status, headers, body = store.request("GET", path, headers={"range": "bytes=2-4"})
            self.assertEqual((status, body), (partial, b"234"))
            self.assertEqual(headers["content-range"], "bytes 2-4/10")
            listing = store.request("GET", "/names?list-type=2&encoding-type=url")[2]
            self.assertEqual(listed(listing)[0], ["a b+c/ü"])
            self.assertEqual(store.counts()["objects"]["names/a b+c/ü"]["ranges"], [[2, 4, 3]])
            store.secret = "other"
            self.assertEqual(store.request("GET", path)[0], 403 if checks_signatures else 200)

    def test_rclone(self):
        # rclone 1.75 answers ranges with 200 and a Content-Range, which RFC 9110 does not provide.
        self.check(servers.Rclone, checks_signatures=True, partial=200)

    def test_moto(self):
        self.check(servers.Moto, checks_signatures=False)


if __name__ == "__main__":
    unittest.main()

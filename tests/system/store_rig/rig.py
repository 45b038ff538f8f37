"""What the tests of the rig share: the import path, and a plain client."""
import http.client
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

WAIT_S = 10


def get(address, path, headers=None, method="GET", timeout_s=WAIT_S):
    """One request on a new connection: (status, headers by lower-case name, body, seconds)."""
    connection = http.client.HTTPConnection(*address, timeout=timeout_s)
    begun = time.monotonic()
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        body = response.read()
        names = {name.lower(): value for name, value in response.getheaders()}
        return response.status, names, body, time.monotonic() - begun
    finally:
        connection.close()

"""Makes a certificate authority and a certificate for 127.0.0.1 and localhost, with openssl."""
import os
import pathlib
import ssl
import subprocess

from . import processes

_DAYS = "2"
_NAMES = "subjectAltName=DNS:localhost,DNS:*.localhost,IP:127.0.0.1\n"


class Certificate:
    """Files in PEM: `ca` for clients to trust, `server` with the certificate and its key."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        openssl = processes.find_program("openssl")

        def run(*arguments):
            subprocess.run([openssl, *map(str, arguments)], check=True, capture_output=True,
                           timeout=60)

        self.ca, self.server = str(folder / "ca.pem"), str(folder / "server.pem")
        self.key = str(folder / "key.pem")
        new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        run(*new, "-x509", "-days", _DAYS, "-subj", "/CN=penstock tests", "-keyout",
            folder / "ca-key.pem", "-out", self.ca)
        run(*new, "-subj", "/CN=localhost", "-keyout", self.key, "-out", folder / "request.pem")
        (folder / "names").write_text(_NAMES)
        run("x509", "-req", "-in", folder / "request.pem", "-CA", self.ca, "-CAkey",
            folder / "ca-key.pem", "-CAcreateserial", "-days", _DAYS, "-extfile", folder / "names",
            "-out", folder / "certificate.pem")
        text = (folder / "certificate.pem").read_text() + pathlib.Path(self.key).read_text()
        pathlib.Path(self.server).write_text(text)
        os.chmod(self.server, 0o600)


def load_context(server):
    """What a server needs to speak TLS with the file `server` of a Certificate; None without one."""
    if not server:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(server)
    return context

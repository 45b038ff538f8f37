"""Certificates for mutual TLS, made with openssl."""
import pathlib
import shutil
import subprocess

OPENSSL = shutil.which("openssl")
SERVER_NAMES = "DNS:localhost,DNS:node.test,IP:127.0.0.1"
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def run(*arguments):
    subprocess.run([OPENSSL, *map(str, arguments)], check=True, capture_output=True, timeout=60)


class Authority:
    """An authority of its own in a folder."""

    def __init__(self, folder, name="tests"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.certificate, self.key = self.folder / "ca.crt", self.folder / "ca.key"
        run("req", *NEW_KEY, "-x509", "-days", 2, "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)

    def sign(self, folder, names=SERVER_NAMES, expired=False):
        """Writes tls.crt and tls.key, and this authority's ca.crt, to a folder."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        run("req", *NEW_KEY, "-subj", "/CN=somebody", "-keyout", folder / "tls.key", "-out", folder / "request")
        (folder / "names").write_text(f"subjectAltName={names}\n")
        if expired:
            self.sign_expired(folder)
        else:
            run("x509", "-req", "-in", folder / "request", "-CA", self.certificate, "-CAkey", self.key,
                "-CAcreateserial", "-days", 2, "-extfile", folder / "names", "-out", folder / "tls.crt")
        shutil.copy(self.certificate, folder / "ca.crt")
        return folder

    def sign_expired(self, folder):
        """`openssl x509` cannot date back; `openssl ca` can."""
        (folder / "index").write_text("")
        (folder / "serial").write_text("1000\n")
        (folder / "ca.cnf").write_text(
            "[ca]\ndefault_ca = it\n[it]\n"
            f"database = {folder}/index\nserial = {folder}/serial\nnew_certs_dir = {folder}\n"
            "default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n")
        run("ca", "-batch", "-config", folder / "ca.cnf", "-cert", self.certificate, "-keyfile", self.key,
            "-in", folder / "request", "-extfile", folder / "names", "-notext", "-out", folder / "tls.crt",
            "-startdate", "20200101000000Z", "-enddate", "20210101000000Z")

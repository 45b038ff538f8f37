"""A server on 127.0.0.1 that gives keys as Amazon's do: the metadata of an instance (version 2 only), a
container's role, and STS's AssumeRoleWithWebIdentity.

    with key_server.KeyServer(store.key, store.secret, store.token, lasts_s=4) as keys:
        ...keys.metadata_environment(), keys.requests
"""
import datetime
import http.server
import json
import threading
import time
import urllib.parse

ROLE = "training role"
TOKEN = "a-token-of-the-metadata"
IDENTITY = "header.claims.signature"
AUTHORIZATION = "the container's/token=="
_ROLES = "/latest/meta-data/iam/security-credentials/"


class KeyServer:
    """Attributes may be changed at any time: `key`, `secret`, `token`, `lasts_s`, `fails` (a status that
    answers everything), `delay_s` before each answer, `identity` (the web identity token that STS takes).
    `requests` is the list of all (method, path) so far."""

    def __init__(self, key, secret, token=None, lasts_s=3600):
        self.key, self.secret, self.token, self.lasts_s = key, secret, token, lasts_s
        self.fails, self.delay_s, self.identity, self.requests = None, 0, IDENTITY, []
        self.most_at_once, self._now_at_once, self._lock = 0, 0, threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def _answer(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, data = outer._serve(self.command, self.path, self.headers, body.decode())
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_HEAD = do_PUT = do_POST = _answer

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True, name="keys").start()

    def change(self, key, secret, token=None):
        self.key, self.secret, self.token = key, secret, token

    def count(self, path):
        return sum(1 for _, asked in self.requests if path in asked)

    # ---- What clients are given ----

    def metadata_environment(self):
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": self.endpoint}

    def container_environment(self, token_file=None):
        given = {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token_file)} if token_file else {
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": AUTHORIZATION}
        return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.endpoint}/container/keys?x=1", **given}

    def identity_environment(self, token_file):
        return {"AWS_WEB_IDENTITY_TOKEN_FILE": str(token_file), "AWS_ENDPOINT_URL_STS": self.endpoint,
                "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/training"}

    # ---- Answers ----

    def _end(self):
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.lasts_s)
        return end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _json(self):
        return json.dumps({"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2026-01-01T00:00:00Z",
                           "AccessKeyId": self.key, "SecretAccessKey": self.secret, "Token": self.token,
                           "Expiration": self._end()}).encode()

    def _sts(self, body):
        asked = dict(urllib.parse.parse_qsl(body))
        if asked.get("Action") != "AssumeRoleWithWebIdentity" or not asked.get("RoleArn"):
            return 400, b"<ErrorResponse><Error><Code>InvalidAction</Code></Error></ErrorResponse>"
        if asked.get("WebIdentityToken") != self.identity:
            return 400, (b"<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>of "
                         + asked.get("WebIdentityToken", "").encode() + b"</Message></Error></ErrorResponse>")
        return 200, (f"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                     f"<AccessKeyId>{self.key}</AccessKeyId><SecretAccessKey>{self.secret}</SecretAccessKey>"
                     f"<SessionToken>{self.token}</SessionToken><Expiration>{self._end()}</Expiration>"
                     f"</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>").encode()

    def _serve(self, method, path, headers, body):
        with self._lock:
            self.requests.append((method, path))
            self._now_at_once += 1
            self.most_at_once = max(self.most_at_once, self._now_at_once)
        try:
            time.sleep(self.delay_s)
            return self._found(method, path, headers, body)
        finally:
            with self._lock:
                self._now_at_once -= 1

    def _found(self, method, path, headers, body):
        if self.fails:
            return self.fails, b"out of order"
        if method == "PUT" and path == "/latest/api/token":
            lasts_s = headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
            return (200, TOKEN.encode()) if lasts_s.isdigit() else (400, b"")
        if path.startswith(_ROLES):
            if headers.get("X-aws-ec2-metadata-token") != TOKEN:
                return 401, b"Unauthorized"
            role = urllib.parse.unquote(path[len(_ROLES):])
            if role not in ("", ROLE):
                return 404, b""
            return 200, self._json() if role else ROLE.encode()
        if path.startswith("/container/"):
            given = headers.get("Authorization")
            return (200, self._json()) if given == AUTHORIZATION else (403, b"")
        if method == "POST" and path == "/":
            return self._sts(body)
        return 404, b""

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

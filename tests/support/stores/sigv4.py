"""AWS Signature Version 4 for S3: signs requests, and checks those of others.

Written from AWS's description of the signing process, for the tests alone: it shares no code with
what it checks. The checker works from the raw request target, so that a client that encodes a path
or a query differently from what it signs is refused, as S3 refuses it.
"""
import datetime
import functools
import hashlib
import hmac
import urllib.parse

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
EMPTY = hashlib.sha256(b"").hexdigest()
MAX_SKEW_S = 15 * 60
STAMP = "%Y%m%dT%H%M%SZ"


class Refused(Exception):
    """Carries the HTTP status and the S3 error code with which a request is refused."""

    def __init__(self, status, code, message, **details):
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message, self.details = status, code, message, details


def encode(text, safe=""):
    """Percent-encodes all bytes but the unreserved characters and `safe`."""
    return urllib.parse.quote(text, safe=safe + "-_.~")


def canonical_path(raw):
    return encode(urllib.parse.unquote_to_bytes(raw), safe="/") or "/"


def canonical_query(raw, without=()):
    pairs = []
    for part in raw.split("&") if raw else ():
        name, _, value = part.partition("=")
        name, value = (urllib.parse.unquote_to_bytes(text) for text in (name, value))
        if name.decode("latin-1") not in without:
            pairs.append((encode(name), encode(value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


@functools.lru_cache(maxsize=1024)
def signing_key(secret, date, region, service):
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def signature(secret, scope, stamp, request):
    """`request` is the canonical request; `scope` is date/region/service/aws4_request."""
    date, region, service, _ = scope.split("/")
    text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    return hmac.digest(signing_key(secret, date, region, service), text.encode(), "sha256").hex()


def canonical_request(method, path, query, headers, names, payload):
    """`headers` maps lower-case names to values; `names` are the signed ones, in order."""
    lines = "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in names)
    return "\n".join((method, path, query, lines, ";".join(names), payload))


def sign(method, url, key, secret, *, region="us-east-1", headers=None, payload=b"", token=None,
         now=None):
    """Returns the headers to send, the given ones included, each of which is signed.

    `payload` is the body, or its SHA-256 in hexadecimal, or UNSIGNED.
    """
    now = now or datetime.datetime.now(datetime.timezone.utc)
    stamp = now.strftime(STAMP)
    parts = urllib.parse.urlsplit(url)
    digest = payload if isinstance(payload, str) else hashlib.sha256(payload).hexdigest()
    sent = {"host": parts.netloc, "x-amz-date": stamp, "x-amz-content-sha256": digest}
    sent.update({name.lower(): value for name, value in (headers or {}).items()})
    if token:
        sent["x-amz-security-token"] = token
    names = sorted(sent)
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    request = canonical_request(method, canonical_path(parts.path), canonical_query(parts.query),
                                sent, names, digest)
    sent["authorization"] = (f"{ALGORITHM} Credential={key}/{scope}, "
                             f"SignedHeaders={';'.join(names)}, "
                             f"Signature={signature(secret, scope, stamp, request)}")
    return sent


def presign(method, url, key, secret, *, region="us-east-1", expires_s=600, now=None):
    """Returns the URL with the signature in its query; `host` is the only signed header."""
    stamp = (now or datetime.datetime.now(datetime.timezone.utc)).strftime(STAMP)
    parts = urllib.parse.urlsplit(url)
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    added = {"X-Amz-Algorithm": ALGORITHM, "X-Amz-Credential": f"{key}/{scope}",
             "X-Amz-Date": stamp, "X-Amz-Expires": str(expires_s), "X-Amz-SignedHeaders": "host"}
    query = "&".join(filter(None, (parts.query, urllib.parse.urlencode(added))))
    request = canonical_request(method, canonical_path(parts.path), canonical_query(query),
                                {"host": parts.netloc}, ["host"], UNSIGNED)
    query += f"&X-Amz-Signature={signature(secret, scope, stamp, request)}"
    return urllib.parse.urlunsplit(parts._replace(query=query))


class Checker:
    """Checks that requests are signed by one key; safe for any number of threads."""

    def __init__(self, key, secret, region="us-east-1", token=None, clock=None):
        self.key, self.secret, self.region, self.token = key, secret, region, token
        self._expired = set()  # tokens
        self._clock = clock or (lambda: datetime.datetime.now(datetime.timezone.utc))

    def check(self, method, target, headers):
        """Raises Refused unless `target`, the raw path and query, is signed in `headers`."""
        path, _, query = target.partition("?")
        authorization = headers.get("authorization")
        if authorization is not None:
            self._check_header(method, path, query, headers, authorization)
        elif "X-Amz-Signature=" in query:
            self._check_query(method, path, query, headers)
        else:
            raise Refused(403, "AccessDenied", "Access Denied: the request is not signed")

    def _check_header(self, method, path, query, headers, authorization):
        algorithm, _, rest = authorization.partition(" ")
        fields = dict(part.strip().partition("=")[::2] for part in rest.split(","))
        if algorithm != ALGORITHM or not {"Credential", "SignedHeaders", "Signature"} <= set(fields):
            raise Refused(400, "AuthorizationHeaderMalformed", f"unexpected: {authorization}")
        names = fields["SignedHeaders"].split(";")
        unsigned = [name for name in headers
                    if (name == "host" or name.startswith("x-amz-")) and name not in names]
        if unsigned:
            raise Refused(403, "AccessDenied", f"There were headers present in the request which "
                                               f"were not signed: {', '.join(unsigned)}")
        if names != sorted(names) or not set(names) <= set(headers):
            raise Refused(403, "AccessDenied", "SignedHeaders must be sorted, and name headers that "
                                               f"are there: {fields['SignedHeaders']}")
        payload = headers.get("x-amz-content-sha256")
        if payload is None:
            raise Refused(400, "InvalidRequest", "Missing required header for this request: "
                                                 "x-amz-content-sha256")
        self._check_payload(payload, headers)
        self._check_token(headers.get("x-amz-security-token"))
        self._check_signature(fields["Credential"], headers.get("x-amz-date", ""), MAX_SKEW_S, names,
                              method, path, canonical_query(query), headers, payload,
                              fields["Signature"])

    def _check_query(self, method, path, query, headers):
        fields = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if fields.get("X-Amz-Algorithm") != ALGORITHM:
            raise Refused(400, "AuthorizationQueryParametersError", "X-Amz-Algorithm is wrong")
        self._check_token(fields.get("X-Amz-Security-Token"))
        self._check_signature(fields.get("X-Amz-Credential", ""), fields.get("X-Amz-Date", ""),
                              int(fields.get("X-Amz-Expires", 0)),
                              fields.get("X-Amz-SignedHeaders", "host").split(";"), method, path,
                              canonical_query(query, without=("X-Amz-Signature",)), headers,
                              UNSIGNED, fields["X-Amz-Signature"])

    @staticmethod
    def _check_payload(payload, headers):
        known = payload == UNSIGNED or payload.startswith("STREAMING-") or len(payload) == 64
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        if not known or (empty and payload not in (EMPTY, UNSIGNED)):
            raise Refused(400, "XAmzContentSHA256Mismatch",
                          "The provided 'x-amz-content-sha256' header does not match the body")

    def replace_keys(self, key, secret, token=None):
        """From now on only these count; the token so far has expired."""
        self._expired.add(self.token)
        self.key, self.secret, self.token = key, secret, token

    def _check_token(self, token):
        if token and token in self._expired and token != self.token:
            raise Refused(400, "ExpiredToken", "The provided token has expired.")
        if self.token and token is None:
            raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id needs its token")
        if token != self.token:
            raise Refused(400, "InvalidToken", "The provided token is malformed or invalid")

    def _check_signature(self, credential, stamp, lasts_s, names, method, path, query, headers,
                         payload, given):
        key, _, scope = credential.partition("/")
        if key != self.key:
            raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id does not exist")
        parts = scope.split("/")
        if len(parts) != 4 or parts[2:] != ["s3", "aws4_request"] or parts[0] != stamp[:8]:
            raise Refused(400, "AuthorizationHeaderMalformed", f"unexpected scope: {scope}")
        if parts[1] != self.region:
            raise Refused(400, "AuthorizationHeaderMalformed",
                          f"The authorization header is malformed; the region '{parts[1]}' is "
                          f"wrong; expecting '{self.region}'", Region=self.region)
        try:
            signed = datetime.datetime.strptime(stamp, STAMP).replace(tzinfo=datetime.timezone.utc)
        except ValueError:
            raise Refused(403, "AccessDenied", "X-Amz-Date is missing or malformed") from None
        age_s = (self._clock() - signed).total_seconds()
        if not -MAX_SKEW_S <= age_s <= lasts_s:
            raise Refused(403, "RequestTimeTooSkewed",
                          "The difference between the request time and the server's time is too "
                          "large", RequestTime=stamp)
        request = canonical_request(method, canonical_path(path), query, headers, names, payload)
        wanted = signature(self.secret, scope, stamp, request)
        if not hmac.compare_digest(wanted, given):
            raise Refused(403, "SignatureDoesNotMatch",
                          "The request signature we calculated does not match the signature you "
                          "provided", CanonicalRequest=request)

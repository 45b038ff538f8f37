"""The answers that S3 gives beside objects' bytes: listings, locations and errors, as XML."""
import base64
import bisect
import urllib.parse
from xml.sax.saxutils import escape

XMLNS = "http://s3.amazonaws.com/doc/2006-03-01/"
DATE = "2024-01-01T00:00:00.000Z"
MAX_KEYS = 1000
_LAST = "\U0010ffff"


def document(body):
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'.encode()


def error(code, message, resource="", **details):
    more = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in details.items())
    return document(f"<Error><Code>{code}</Code><Message>{escape(message)}</Message>"
                    f"<Resource>{escape(resource)}</Resource>{more}"
                    "<RequestId>4442587FB7D0A2F9</RequestId></Error>")


def location(region):
    return document(f'<LocationConstraint xmlns="{XMLNS}">{escape(region)}</LocationConstraint>')


def _token(key):
    return base64.urlsafe_b64encode(key.encode()).decode()


def _key(token):
    try:
        return base64.urlsafe_b64decode(token.encode()).decode()
    except ValueError:
        raise ValueError("The continuation token provided is incorrect") from None


def page(keys, prefix, delimiter, after, most):
    """Returns (entries, next): keys, or prefixes ending with the delimiter, in order, and where
    the next page begins, or None behind the last. `keys` is sorted."""
    entries, last = [], None
    at = max(bisect.bisect_left(keys, prefix), bisect.bisect_right(keys, after))
    while at < len(keys) and keys[at].startswith(prefix):
        if len(entries) >= most:
            return entries, last
        cut = keys[at].find(delimiter, len(prefix)) if delimiter else -1
        if cut < 0:
            entries.append(keys[at])
            last = keys[at]
            at += 1
            continue
        common = keys[at][:cut + len(delimiter)]
        last = common + _LAST
        at = bisect.bisect_right(keys, last)
        if last > after:  # else an earlier page had it
            entries.append(common)
    return entries, None


def list_objects(bucket, keys, objects, query):
    """Answers ListObjectsV2, or V1 without list-type=2. `query` is raw; errors are ValueErrors."""
    fields = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    second = fields.get("list-type") == "2"
    prefix, delimiter = fields.get("prefix", ""), fields.get("delimiter", "")
    most = min(int(fields.get("max-keys") or MAX_KEYS), MAX_KEYS)
    if most < 0:
        raise ValueError("Argument maxKeys must be an integer between 0 and 2147483647")
    after = fields.get("start-after" if second else "marker", "")
    if "continuation-token" in fields:
        after = _key(fields["continuation-token"])
    entries, following = page(keys, prefix, delimiter, after, most) if most else ([], None)
    encoded = fields.get("encoding-type") == "url"

    def name(text):
        return urllib.parse.quote_plus(text, safe="/*-._") if encoded else escape(text)

    parts = [f'<ListBucketResult xmlns="{XMLNS}"><Name>{escape(bucket)}</Name>'
             f"<Prefix>{name(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"
             f"<IsTruncated>{'true' if following else 'false'}</IsTruncated>"]
    if delimiter:
        parts.append(f"<Delimiter>{name(delimiter)}</Delimiter>")
    if encoded:
        parts.append("<EncodingType>url</EncodingType>")
    if second:
        parts.append(f"<KeyCount>{len(entries)}</KeyCount>")
        if "start-after" in fields:
            parts.append(f"<StartAfter>{name(fields['start-after'])}</StartAfter>")
        if "continuation-token" in fields:
            parts.append(f"<ContinuationToken>{escape(fields['continuation-token'])}"
                         "</ContinuationToken>")
        if following:
            parts.append(f"<NextContinuationToken>{_token(following)}</NextContinuationToken>")
    else:
        parts.append(f"<Marker>{name(fields.get('marker', ''))}</Marker>")
        if following and delimiter:
            parts.append(f"<NextMarker>{name(following)}</NextMarker>")
    for entry in entries:
        found = objects.get(entry)
        if delimiter and entry.find(delimiter, len(prefix)) >= 0:
            parts.append(f"<CommonPrefixes><Prefix>{name(entry)}</Prefix></CommonPrefixes>")
        elif found is not None:
            parts.append(f"<Contents><Key>{name(entry)}</Key><LastModified>{DATE}</LastModified>"
                         f"<ETag>{escape(found.etag)}</ETag><Size>{found.size}</Size>"
                         "<StorageClass>STANDARD</StorageClass></Contents>")
    parts.append("</ListBucketResult>")
    return document("".join(parts))

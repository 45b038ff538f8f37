"""Serves a daemon's own page with answers that were changed on the way: what no test machine has, and what hostile
users would write."""
import http.server
import json
import threading

GPU = {"uuid": "GPU-8f2c11aa-0b1c-4d77-9d0e-5a3c6be1d2f4", "name": "NVIDIA H200", "state": "serving", "sessions": 1,
       "slabs": 3, "slab_bytes": str(890 << 20), "slab_bytes_max": str(2 << 30), "context_bytes": str(525 << 20),
       "copies": "900", "copied_bytes": str(9 << 30), "copied_bytes_per_second": str(345 << 20), "batches_ahead": 3,
       "copies_from_gpus": "0"}
HOSTILE = ("<img src=x onerror=\"window.harmed=1\"><script>window.harmed=1</script>"
           "<style>*{display:none}</style>&lt;b&gt;'\"`${1}\u202eabc\u0007" + "W" * 300)
# Numbers that protobuf's JSON writes as texts, and words that the page knows.
KEPT = ("_ms", "_bytes", "_id", "fingerprint", "delivery", "bottleneck")


def spoil(value, key=""):
    """The same answer with hostile texts in every place for a text."""
    if isinstance(value, dict):
        return {name: spoil(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [spoil(each, key) for each in value]
    is_number = isinstance(value, str) and value.isdigit()
    return HOSTILE if isinstance(value, str) and not is_number and not key.endswith(KEPT) else value


class MadePage:
    """`change(path, answer)` returns the answer that is given instead."""

    def __init__(self, node, change):
        page_headers, page = node.get("/")
        kept = {name: page_headers[name] for name in ("Content-Type", "Content-Security-Policy")}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                headers, body = kept, page
                if self.path != "/":
                    headers = {"Content-Type": "application/json"}
                    body = json.dumps(change(self.path, node.json(self.path))).encode()
                self.send_response(200)
                for name, value in (headers | {"Content-Length": str(len(body))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

"""The control port of a server process: JSON over HTTP, for tests in any language.

    curl -d '{"fault": "latency", "ms": 30}' http://127.0.0.1:PORT/rules
"""
import http.client
import http.server
import json
import threading


def serve(actions, port=0):
    """Starts a thread that answers on 127.0.0.1, and returns its port.

    `actions` maps "METHOD /path" to a function of the body's value; its result is the answer. The
    rest of a longer path is passed as a second argument. Functions may be called by several threads.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def _answer(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            _, name, *rest = self.path.split("/", 2)
            try:
                action = actions.get(f"{self.command} /{name}")
                if action is None:
                    raise LookupError(f"no such action: {self.command} {self.path}")
                status, result = 200, action(json.loads(body) if body else None, *rest)
            except Exception as error:  # whatever it is, the caller should see it
                status, result = 400, {"error": f"{type(error).__name__}: {error}"}
            data = json.dumps(result).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True, name="control").start()
    return server.server_address[1]


def call(port, method, path, value=None, timeout_s=120):
    """Asks a control port; raises RuntimeError with its words if it refuses."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(method, path, None if value is None else json.dumps(value))
        response = connection.getresponse()
        result = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise RuntimeError(f"{method} {path}: {result['error']}")
    return result

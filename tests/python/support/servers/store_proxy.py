"""StoreProxy: stands between bale and an S3 server, keeps a list of all requests, and spoils some of them."""
import dataclasses
import fnmatch
import http.client
import http.server
import socket
import struct
import threading
import urllib.parse
import xml.etree.ElementTree


@dataclasses.dataclass
class Spoil:
    """What happens to requests with this method, path and query (globs)."""
    method: str = "*"
    path: str = "*"
    query: str = "*"
    times: int | None = 1        # None: always
    skip: int = 0                # requests that are left alone before
    status: int | None = None    # an answer instead of the server's
    code: str = "Spoiled"        # ... of this S3 code
    headers: dict = dataclasses.field(default_factory=dict)
    flip: bool = False           # a bit of the request's body is changed on its way
    cut: bool = False            # the connection is reset instead of asking the server
    lose: bool = False           # the server gets the request; the connection is reset instead of its answer
    before: object = None        # called first, with the request
    after: object = None         # called when the server has answered, before the client gets `answer`


@dataclasses.dataclass
class Asked:
    method: str
    path: str  # decoded
    query: str
    headers: dict
    size: int
    status: int = 0
    answer: bytes = b""


class StoreProxy:
    def __init__(self, target):
        self.target, self.log, self._spoils, self._lock = target, [], [], threading.Lock()
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads, self._http.owner = True, self
        self._http.handle_error = lambda *_: None  # the client went away
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {**target.env, "AWS_ENDPOINT_URL": self.url}
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def add(self, method="*", path="*", query="*", **what):
        self._spoils.append(Spoil(method, path, query, **what))
        return self._spoils[-1]

    def heal(self):
        self._spoils = []

    def asked(self, method="*", path="*", query="*"):
        return [one for one in list(self.log) if _fits(one, method, path, query)]

    def take(self, asked):
        with self._lock:
            self.log.append(asked)
            for spoil in self._spoils:
                if not _fits(asked, spoil.method, spoil.path, spoil.query) or spoil.times == 0:
                    continue
                if spoil.skip > 0:
                    spoil.skip -= 1
                    continue
                spoil.times = spoil.times and spoil.times - 1
                return spoil
            return Spoil()

    def uploads(self):
        """({upload's number: key} that were begun, those that were completed, those that were aborted)."""
        begun = {}
        for one in self.asked("POST", query="uploads"):
            if one.status == 200:
                root = xml.etree.ElementTree.fromstring(one.answer)
                begun[next(node.text for node in root.iter() if node.tag.endswith("UploadId"))] = one.path

        def ended(method):
            return {urllib.parse.parse_qs(one.query)["uploadId"][0] for one in self.asked(method, query="uploadId=*")
                    if 200 <= one.status < 300}
        return begun, ended("POST"), ended("DELETE")


def _fits(asked, method, path, query):
    return all(fnmatch.fnmatchcase(value, pattern) for value, pattern in
               ((asked.method, method), (asked.path, path), (asked.query, query)))


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(self.command, urllib.parse.unquote(path), query,
                      {name.lower(): value for name, value in self.headers.items()}, len(body))
        spoil = owner.take(asked)
        if spoil.before:
            spoil.before(asked)
        if spoil.cut:
            return self._reset()
        if spoil.flip:
            body = bytes([body[0] ^ 1]) + body[1:]
        if spoil.status:
            answer = f"<Error><Code>{spoil.code}</Code><Message>spoiled</Message></Error>".encode()
            return self._answer(asked, spoil.status, [("Content-Type", "application/xml"), *spoil.headers.items()], answer)
        connection = http.client.HTTPConnection("127.0.0.1", owner.target.port, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        try:
            connection.endheaders(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server, rclone for example, has answered before it had the whole body: its answer is read
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        asked.status, asked.answer = response.status, answer
        if spoil.after:
            spoil.after(asked)
        if spoil.lose:
            return self._reset()
        kept = [(name, value) for name, value in response.getheaders()
                if name.lower() not in ("content-length", "transfer-encoding", "connection")]
        self._answer(asked, response.status, kept, asked.answer)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def _answer(self, asked, status, headers, body):
        asked.status, asked.answer = status, body
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _reset(self):
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

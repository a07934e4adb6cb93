"""How FaultServer answers one request: conditions, ranges, and the fault that applies to it."""
import email.utils
import gzip
import http.server
import re
import socket
import struct
import time
import urllib.parse

from servers.fault import Request

CHUNK = 1 << 16


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


class Listener(http.server.ThreadingHTTPServer):
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


class FaultHandler(http.server.BaseHTTPRequestHandler):
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
            _reset(self.connection)

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

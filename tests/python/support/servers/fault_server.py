"""FaultServer: a strict HTTP server of a folder, with faults on request."""
import email.utils
import fnmatch
import hashlib
import pathlib
import threading

from servers.fault import Fault, joined
from servers.fault_handler import FaultHandler, Listener


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
        self._http = Listener((host, 0), FaultHandler)
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
            return joined(taken)

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

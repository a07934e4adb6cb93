"""What tests of servers need of the network: a free port, one request, and waiting for something to happen."""
import contextlib
import http.client
import random
import socket
import time
import urllib.parse

_random, _kept = random.SystemRandom(), []


def wait_for(what, seconds=60):
    """Waits until what() is true, and gives it."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.005)
    return found


def free_port():
    """A port that nobody listens on. It is below those that Linux gives to whoever binds port 0 or connects, and this process keeps
    a name for it, so that no other test gets it before a server takes it."""
    while True:
        port = _random.randrange(10_000, 16_000)
        kept = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            kept.bind(f"\0bale-port-{port}")  # no file: it is gone with this process
            probe.bind(("127.0.0.1", port))
            _kept.append(kept)
            return port
        kept.close()


def ask(url, method="GET", body=None, **headers):
    """(status, {header in lower case: value}, body) of one request, without redirects. An underscore is a hyphen."""
    parts = urllib.parse.urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)) as connection:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body,
                           {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()

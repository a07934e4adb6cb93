"""Servers that are programs of others: how they are found, started and ended."""
import contextlib
import functools
import os
import pathlib
import shutil
import socket
import subprocess
import sys

from servers.network import wait_for


def program(name, how):
    """Next to this Python, or in the path."""
    found = shutil.which(name, path=os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", ""),
                                                     "/usr/sbin"]))
    assert found, f"{name} is not installed: {how}"
    return found


@contextlib.contextmanager
def running(log, *ports, command, **options):
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

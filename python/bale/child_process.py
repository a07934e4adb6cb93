"""A program that runs as a child: its lines while it runs, its exit code, and signals that reach it."""
from __future__ import annotations

import os
import signal
import threading

from bale import _bale

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from typing import IO

_PATIENCE_S = 10.0
_LOOK_UP_MS = 200


def call_program(words: list[str], take_line: Callable[[str], None] | None, out: IO[bytes]) -> int:
    """Runs a program, calls `take_line` with each line of its standard error, and returns its exit code. Without
    `take_line`, the program writes to this process's standard error.

    Ctrl-C in a terminal reaches the program by itself. A signal to this process alone is passed on."""
    import subprocess

    process, received = None, []
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        handler = None
    try:
        if handler:  # raised inside Popen, it would leave a program running without a handle
            signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
        try:
            process = _bale.call_unbound(lambda: subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out,
                                                                  stderr=subprocess.PIPE if take_line else None))
        finally:
            if handler:
                signal.signal(signal.SIGINT, handler)
        if handler and received:
            handler(*received[0])
        if take_line and process.stderr:
            for line in _lines(process.stderr.fileno()):
                take_line(os.fsdecode(line))
        return _wait(process)
    except BaseException:
        if process is not None:
            _end(process)
        raise
    finally:
        if process is not None and process.stderr is not None:
            process.stderr.close()


def _await(fd: int) -> None:
    """Waits until `fd` can be read, and looks up in between: a signal that arrives just before a call blocks does not end it."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while not poll.poll(_LOOK_UP_MS):
        pass


def _lines(fd: int) -> Iterator[bytes]:
    rest = b""
    while True:
        _await(fd)
        new = os.read(fd, 1 << 16)
        if not new:
            break
        *lines, rest = (rest + new).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        ended = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # Linux before 5.3, or a Python that was built for one
        return process.wait()
    try:
        _await(ended)
    finally:
        os.close(ended)
    return process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    from subprocess import TimeoutExpired

    for wait_s, then in ((0.3, signal.SIGINT), (_PATIENCE_S, signal.SIGKILL)):
        try:
            process.wait(wait_s)
            return
        except TimeoutExpired:
            process.send_signal(then)
    process.wait()

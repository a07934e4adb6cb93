"""The program `bale` that came with the package: as a command, and as functions that return what it prints as JSON."""
import os
import signal
import subprocess
import sys
import threading

from bale.errors import make_error

_BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")
_CODES = {2: "invalid_argument", 3: "damaged", 5: "retryable", 130: "interrupted"}
_LEFT_OUT = 4  # finished, but samples were left out, as was asked
_PATIENCE_S = 10.0


def program_path(name="bale"):
    return os.path.join(_BIN, name)


def main():
    """The console command: becomes the program."""
    program = program_path()
    os.execv(program, ["bale", *sys.argv[1:]])


def pack(source, destination, **options):
    """`bale pack`: options are the command's, with underscores: shard_size="1GiB", split="train=0.9,val=0.1",
    stratify=True, include=["*.jpg", "*.png"]; `source` is None with files_from. Progress goes to standard error where that is a terminal; quiet=True:
    never. Returns the report; what on_error="skip" left out is listed in its `skipped`."""
    return _run("pack", [destination] if source is None else [source, destination], options, fine=(0, _LEFT_OUT))


def convert(source, destination, **options):
    """`bale convert`."""
    return _run("convert", [source, destination], options, fine=(0, _LEFT_OUT))


def verify(spec, **options):
    """`bale verify`: the report; what is damaged is listed in its `findings` and raises nothing."""
    return _run("verify", [spec], options, fine=(0, 3))


def inspect(spec):
    """`bale inspect`."""
    return _run("inspect", [spec], {})


def _arguments(options):
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            yield flag
        elif value is None or value is False:
            continue
        elif isinstance(value, (list, tuple)):
            for one in value:
                yield f"{flag}={os.fsdecode(one) if isinstance(one, (bytes, os.PathLike)) else one}"
        else:
            yield f"{flag}={os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else value}"


def _run(command, positional, options, fine=(0,)):
    import json  # here: it is a good part of what importing bale would take
    import tempfile

    words = [program_path(), command, "--json", *_arguments(options), "--", *map(os.fsdecode, positional)]
    # A terminal sees progress and messages as they come. Otherwise messages are kept for the exception.
    on_terminal = sys.stderr is not None and os.isatty(2)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _call(words, stdin=subprocess.DEVNULL, stdout=out, stderr=None if on_terminal else err)
        out.seek(0)
        err.seek(0)
        printed, said = out.read(), os.fsdecode(err.read())
    if code in fine:
        # Names of files may be of any bytes.
        return json.loads(printed.decode("utf-8", "surrogateescape"))
    lines = [line[len("bale: "):] for line in said.splitlines() if line.startswith("bale: ")]
    text = lines[-1] if lines else f"bale {command} ended with code {code}; the reason is on standard error"
    if code < 0:
        text = f"bale {command} was ended by signal {-code}"
    raise make_error(_CODES.get(code, "io"), text)


def _call(words, **streams):
    """Ctrl-C in a terminal reaches the program by itself; a signal to this process alone is passed on."""
    process, received = None, []
    handler = signal.getsignal(signal.SIGINT)
    ours = callable(handler) and threading.current_thread() is threading.main_thread()
    try:
        if ours:  # raised inside of Popen, it would leave a program that nobody knows of
            signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
        try:
            process = subprocess.Popen(words, **streams)
        finally:
            if ours:
                signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[0])
        return process.wait()
    except BaseException:
        if process is not None:
            _end(process)
        raise


def _end(process):
    for wait_s, then in ((0.3, signal.SIGINT), (_PATIENCE_S, signal.SIGKILL)):
        try:
            process.wait(wait_s)
            return
        except subprocess.TimeoutExpired:
            process.send_signal(then)
    process.wait()

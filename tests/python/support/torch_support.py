"""Scripts for Debian's Python, each in a process of its own: a fork of one that has torch imported, which takes seconds."""
import json
import os
import select
import signal
import subprocess
import tempfile
import textwrap

import pytest
from python_support import ENVIRONMENT, RAISES, SYSTEM_PYTHON

# The child falls out of the loop and runs its script as `python -c` would; every script may call raises().
_SERVER = RAISES + """
import gc, json, os, sys
import torch, torch.distributed, torch.utils.data
gc.collect()
gc.freeze()  # otherwise each child copies the pages of all that torch made, to look for garbage there
for line in sys.stdin:
    if os.fork() == 0:
        break
    print(os.wait()[1], flush=True)
else:
    sys.exit()
job = json.loads(line)
for number, path in ((0, os.devnull), (1, job["out"]), (2, job["err"])):
    os.dup2(os.open(path, os.O_RDWR), number)
os.environ.update(job["env"])
sys.path[1:1] = [path for path in job["env"].get("PYTHONPATH", "").split(":") if path]
sys.argv[1:] = job["args"]
exec(compile(job["script"], "<script>", "exec"))
"""
_RUN_FILE = """
import os, runpy, sys
_, folder, file, *sys.argv[1:] = sys.argv
os.chdir(folder)
sys.path.insert(0, os.path.dirname(file))
sys.argv[0] = file
runpy.run_path(file, run_name="__main__")
"""


class Torch:
    """torch(script, *args, **env) -> its standard output, as run_script does it."""

    def __init__(self, *modules, python=SYSTEM_PYTHON, **env):
        """`modules` are imported once, too. `env`: what libraries read when a process starts or they are imported."""
        server = "".join(f"import {module}\n" for module in modules) + _SERVER
        self._server = subprocess.Popen([python, "-c", server], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**ENVIRONMENT, **env}, text=True, start_new_session=True)

    def __call__(self, script, *args, timeout=400, **env):
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            job = {"script": textwrap.dedent(script), "args": list(map(str, args)), "env": env, "out": out.name,
                   "err": err.name}
            self._server.stdin.write(json.dumps(job) + "\n")
            self._server.stdin.flush()
            if not select.select([self._server.stdout], [], [], timeout)[0]:
                os.killpg(self._server.pid, signal.SIGKILL)
                pytest.fail(f"no end after {timeout} s\n{script}\n{err.read().decode()}")
            code = os.waitstatus_to_exitcode(int(self._server.stdout.readline()))
            assert code == 0, f"exit {code}\n{out.read().decode()}\n{err.read().decode()}"
            return out.read().decode()

    def run(self, folder, file, *args, **env):
        """As `python FILE ARGUMENT...` in that folder."""
        return self(_RUN_FILE, folder, file, *args, **{"timeout": 300, **env})

    def close(self):
        self._server.stdin.close()
        self._server.wait(30)


@pytest.fixture(scope="module")
def torch():
    server = Torch()
    yield server
    server.close()

"""What tests of the launchers share: a plan, what one machine makes of it, and a `bale` that fails at chosen parts."""
import json
import os
import shlex
import subprocess
import sys

import pytest
from conftest import PROGRAM, shim, tree_bytes
from python_support import ENVIRONMENT

PARTS = 8
OPTIONS = ["--name", "x", "--shard-samples", "2"]  # 20 shards
ENGINES = pytest.mark.skipif("BALE_TEST_ENGINES" not in os.environ, reason="scripts/checks/check_engines.sh installs engines and runs this")


class Case:
    """A plan of the photos, and the bytes that one machine packs."""

    def __init__(self, bale, photos, folder, *options):
        self.bale, self.folder, self.out, self.plan = bale, folder, folder / "out", folder / "x.plan"
        assert bale("pack", photos, folder / "one", *OPTIONS, *options).code in (0, 4)  # 4: samples were skipped
        bale.ok("plan", photos, self.out, "-o", self.plan, *OPTIONS, *options)
        self.expected = tree_bytes(folder / "one")

    def launch(self, engine, *options, code=0, timeout=240, env=None):
        """`python -m bale.launch ENGINE PLAN`, which must end with this exit code."""
        words = [sys.executable, "-m", "bale.launch", engine, self.plan, *map(str, options)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, cwd=self.folder, stdin=subprocess.DEVNULL,
                              env={**ENVIRONMENT, **(env or {})})
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def check(self):
        assert tree_bytes(self.out) == self.expected
        assert sorted(os.listdir(self.out)) == sorted(os.listdir(self.folder / "one"))

    def missing(self):
        """The parts that the merge misses, as it prints them."""
        merge = self.bale("merge", self.plan, "--parts", str(PARTS), "--json")
        assert merge.code == 5, merge
        assert not (self.out / "manifest.json").exists()
        return json.loads(merge.out)["array"]

    def attempts(self):
        """{part: attempts} that faulty() counted."""
        counts = {}
        for line in (self.folder / "attempts").read_text().splitlines():
            counts[int(line)] = counts.get(int(line), 0) + 1
        return counts

    def faulty(self, *parts, times=1, **settings):
        """A program `bale` whose first `times` attempts at each of these parts have the shim with these settings."""
        preload = " ".join(f"{name}={shlex.quote(value)}" for name, value in shim(**settings).items())
        script = self.folder / "faulty"
        script.write_text(f"""#!/bin/sh
for word; do case "$word" in */{PARTS}) part=${{word%/*}};; esac; done
cd {shlex.quote(str(self.folder))}
[ -n "$part" ] || exec {shlex.quote(str(PROGRAM))} "$@"
echo "$part" >>attempts
case " {' '.join(map(str, parts))} " in *" $part "*)
  [ "$(grep -cx "$part" attempts)" -gt {times} ] || exec env {preload} {shlex.quote(str(PROGRAM))} "$@";;
esac
exec {shlex.quote(str(PROGRAM))} "$@"
""")
        script.chmod(0o755)
        return script


@pytest.fixture
def case(bale, photos, tmp_path):
    return Case(bale, photos, tmp_path)


def stopped_parts(plan):
    """Processes of `bale pack --plan` of this plan that the shim has stopped."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/stat") as stat:
                if os.fsencode(plan) in words.read().split(b"\0") and stat.read().rpartition(")")[2].split()[0] == "T":
                    found.append(int(pid))
        except OSError:  # it ended in the meantime
            pass
    return found

"""Who could use a dataset still can after a change, whatever the umask of the run that made it."""
import os
import stat

import pytest
from conftest import NOBODY, let_others_in, shards
from version_support import make_files

OTHER_UMASK = ["sh", "-c", 'umask 077; exec "$@"', "sh"]
CHANGES = {
    "remove": ["remove OUT KEY"],
    "set": ["set OUT caption.txt=TABLE"],
    "add": ["add OUT MORE"],
    "rewrite": ["remove OUT KEY", "rewrite OUT"],
    "purge": ["remove OUT KEY --purge"],
    "prune": ["add OUT MORE", "log OUT --keep 1 --prune --force"],
    "index": ["index OUT --force", "index OUT --seek-points --sidecars wids"],
    "overwrite": ["pack FILES OUT --name x --overwrite --shuffle 1"],
}


def access(out):
    return {str(path): (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid) for path in [out, *out.rglob("*")]}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", [0o644, 0o640])
def test_the_access_of_a_dataset_stays(bale, tmp_path, change, mode):
    out = tmp_path / "out"
    bale.pack(make_files(tmp_path / "files", "a"), out, "--name", "x", "--shard-samples", "4")
    owner = 65534 if os.geteuid() == 0 else os.geteuid()
    for path in [*out.rglob("*"), out]:
        path.chmod(mode if path.is_file() else mode | 0o111)
        os.chown(path, owner, -1)
    key = bale.ok("ls", out).out.splitlines()[0]
    (tmp_path / "table.csv").write_text(f"key,caption\n{key},text\n")
    words = {"OUT": out, "KEY": key, "TABLE": tmp_path / "table.csv", "FILES": tmp_path / "files",
             "MORE": make_files(tmp_path / "more", "bb")}
    for command in CHANGES[change]:
        for word, value in words.items():
            command = command.replace(word, str(value))
        bale.ok(*command.split(), prefix=OTHER_UMASK)
        for path, (found, user) in access(out).items():
            assert (oct(found & ~0o111), user) == (oct(mode), owner), (command, path)
    bale.ok("verify", out)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_index_can_be_read_by_whoever_reads_its_shard(bale, tmp_path):
    out = tmp_path / "out"
    bale.pack(make_files(tmp_path / "files", "a"), out, "--name", "x")
    let_others_in(out)
    for path in out.iterdir():
        path.chmod(0o644) if path in shards(out) else path.unlink()
    bale.ok("index", out, prefix=OTHER_UMASK)
    assert bale.ok("ls", out, prefix=NOBODY).out

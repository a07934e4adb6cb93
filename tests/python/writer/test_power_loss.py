"""Power loss: the calls of a pack are recorded, and after each one the disk is made as it may then be found.

What was not synced is lost, or is there in part: what a file system may do between fsyncs, whatever its kind. A file's
bytes are safe from its own fsync on; a name from its directory's. A rename takes both names at once.
"""
import hashlib
import json
import os
import random
import shutil

import pytest
from conftest import by_tier, key_names, shards, shim, tree_bytes
from fault_support import FAULT_LAYOUTS, check_only_whole_files, options, resume

PAGE = 4096


class Inode:
    def __init__(self):
        self.now, self.synced, self.pending = b"", b"", []

    def change(self, offset, data):
        self.now = apply(self.now, offset, data)
        self.pending.append((offset, data))

    def sync(self):
        self.synced, self.pending = self.now, []


def apply(content, offset, data):
    """`data` written at `offset`; None: cut or grown to `offset` bytes."""
    if data is None:
        return content[:offset].ljust(offset, b"\0")
    return content[:offset].ljust(offset, b"\0") + data + content[offset + len(data):]


class Disk:
    """Names and bytes below `root`, as the process sees them and as they are safe."""

    def __init__(self, root):
        self.root = str(root)
        self.names, self.safe_names, self.pending = {}, {}, []  # pending: (directories whose sync makes it safe, change)

    def hold(self, directory):
        """What is below the root before the first call is safe."""
        for path in [directory, *directory.rglob("*")]:
            inode = None
            if path.is_file():
                inode = Inode()
                inode.change(0, path.read_bytes())
                inode.sync()
            self.names[str(path)] = self.safe_names[str(path)] = inode

    def do(self, call, path, other, offset, data):
        if not (path + "/").startswith(self.root + "/") and path != os.path.dirname(self.root):
            return
        if call in ("create", "open"):
            if path not in self.names:
                self.rename_names({path: Inode()}, [], path)
            elif call == "create":
                self.names[path].change(0, None)
        elif call == "write" and path in self.names:
            self.names[path].change(offset, data)
        elif call == "truncate" and path in self.names:
            self.names[path].change(offset, None)
        elif call == "mkdir":
            self.rename_names({path: None}, [], path)
        elif call in ("unlink", "rmdir"):
            self.rename_names({}, [path], path)
        elif call == "rename":
            moved = [name for name in self.names if name == path or name.startswith(path + "/")]
            self.rename_names({other + name[len(path):]: self.names[name] for name in moved}, moved, other)
        elif call == "link":
            self.rename_names({other: self.names[path]}, [], other)
        elif call == "fsync":
            if self.names.get(path) is not None:
                self.names[path].sync()
            else:
                for change in [change for change in self.pending if change[0] == path]:
                    self.change_names(self.safe_names, change)
                self.pending = [change for change in self.pending if change[0] != path]

    def rename_names(self, added, removed, of):
        change = (os.path.dirname(of), added, removed)
        self.change_names(self.names, change)
        self.pending.append(change)

    @staticmethod
    def change_names(names, change):
        for path in change[2]:
            names.pop(path, None)
        names.update(change[1])

    def states(self, rng):
        """{path: bytes, or None for a directory} as the disk may be found now."""
        yield {path: inode and inode.synced for path, inode in self.safe_names.items()}
        # Names before bytes: as delayed allocation does it, empty or zeros where nothing was written yet.
        yield {path: inode and inode.synced for path, inode in self.names.items()}
        yield {path: inode and inode.synced.ljust(len(inode.now), b"\0") for path, inode in self.names.items()}
        # Bytes before names.
        yield {path: inode and inode.now for path, inode in self.safe_names.items()}
        # Some of both: names in order, pages in any.
        names = dict(self.safe_names)
        for change in self.pending[:rng.randrange(len(self.pending) + 1)]:
            self.change_names(names, change)
        yield {path: inode and self.some_pages(inode, rng) for path, inode in names.items()}

    @staticmethod
    def some_pages(inode, rng):
        content = inode.synced
        for offset, data in inode.pending:
            if data is None:
                content = apply(content, offset, None) if rng.random() < 0.5 else content
                continue
            for at in range(0, len(data), PAGE):
                if rng.random() < 0.5:
                    content = apply(content, offset + at, data[at:at + PAGE])
        return content


def recorded_calls(path):
    record = path.read_bytes()
    while record:
        line, _, record = record.partition(b"\n")
        call, path, other, offset, length = line.decode().split("\t")
        data, record = record[:int(length)], record[int(length):]
        yield call, path, other, int(offset), data


def new_states(disk, record, rng):
    """((number, call, path), state) of each state that the disk may be found in during the calls, each state once."""
    seen = set()
    for number, (call, path, *more) in enumerate(recorded_calls(record)):
        disk.do(call, path, *more)
        for state in disk.states(rng):
            digest = hashlib.blake2b(repr(sorted(state.items())).encode()).digest()
            if digest not in seen:
                seen.add(digest)
                yield (number, call, path), state


def lay_out(state, root, target):
    """`state`, which was recorded below `root`, as files below `target`."""
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(state):
        place = target / os.path.relpath(path, root)
        if state[path] is None:
            place.mkdir(parents=True, exist_ok=True)
        elif place.parent.exists():  # else its directory was lost
            place.write_bytes(state[path])


def check_all_are_known(directory):
    """Journal or manifest name every shard, so that --overwrite can tell it from a stranger's file."""
    if not directory.exists() or (directory / "manifest.json").exists():
        return
    journal = directory / ".bale-partial" / "journal.jsonl"
    known = journal.read_text(errors="replace") if journal.exists() else ""
    for shard in shards(directory):
        assert f'"{shard.name}"' in known, shard


@pytest.mark.parametrize("layout", FAULT_LAYOUTS)
def test_old_or_new_never_mixed(bale, tiny, layout, tmp_path):
    """In every state: what has a final name is whole, and --resume ends with the bytes of an undisturbed run."""
    pack_options = options(layout, 3)
    out, record = tmp_path / "out", tmp_path / "record"
    bale.pack(tiny, out, *pack_options, env=shim(RECORD=record))
    expected = tree_bytes(out)
    disk, found = Disk(out), tmp_path / "found"
    for seen, (call, state) in enumerate(new_states(disk, record, random.Random(layout)), 1):
        lay_out(state, out, found)
        check_only_whole_files(found, expected)
        check_all_are_known(found)
        if seen % by_tier(4, 1) == 0:
            resume(bale, tiny, found, pack_options)
            assert tree_bytes(found) == expected, call
    # The record was complete: after the last call the disk holds what the pack left.
    lay_out({path: inode and inode.now for path, inode in disk.names.items()}, out, found)
    assert tree_bytes(found) == expected
    # And all of it was safe by then.
    lay_out({path: inode and inode.synced for path, inode in disk.safe_names.items()}, out, found)
    assert tree_bytes(found) == expected
    assert seen > 30


@pytest.mark.parametrize("layout", ["tar.plain --sidecars wids --seek-points", "lmdb.plain"])
def test_old_or_new_when_a_dataset_is_replaced(bale, tiny, layout, tmp_path):
    """In every state: the manifest that is there is that of a whole dataset, and the run can be finished."""
    out, record = tmp_path / "out", tmp_path / "record"
    bale.pack(tiny, out, *options(layout, 2))
    old, disk = tree_bytes(out), Disk(out)
    disk.hold(out)
    command = ["pack", tiny, out, *options(layout, 3), "--overwrite"]
    bale.ok(*command, env=shim(RECORD=record))
    new, kinds = tree_bytes(out), set()
    found = command[2] = tmp_path / "found"
    for seen, (call, state) in enumerate(new_states(disk, record, random.Random(layout)), 1):
        lay_out(state, out, found)
        files = tree_bytes(found)
        which = "old" if files.get("manifest.json") == old["manifest.json"] else \
            "new" if files.get("manifest.json") == new["manifest.json"] else "neither"
        expected = {"old": old, "new": new, "neither": {}}[which]
        assert files.items() >= expected.items(), (call, which)
        kinds.add(which)
        if which == "neither" or seen % by_tier(8, 1) == 0:
            bale.ok(*command)
            assert tree_bytes(found) == new, (call, which)
    assert kinds == {"old", "neither", "new"}
    lay_out({path: inode and inode.synced for path, inode in disk.safe_names.items()}, out, found)
    assert tree_bytes(found) == new


@pytest.mark.parametrize("verb, layout", [("add", "tar.plain --sidecars wids --seek-points"), ("add", "lmdb.plain"),
                                          ("remove", "tar.plain"), ("set", "tar.plain")])
def test_old_or_new_version(bale, tiny, verb, layout, tmp_path):
    """In every state: the old version or the new one is whole, and the run can be finished."""
    source, out, record = tmp_path / "source", tmp_path / "out", tmp_path / "record"
    bale.pack(tiny, out, *options(layout, 2))
    shutil.copytree(tiny, source)
    for file in list(source.rglob("*.*")):
        file.rename(file.with_name(f"new_{file.name}"))
    old, disk = tree_bytes(out), Disk(out)
    disk.hold(out)
    key = key_names(bale, out)[0]
    (tmp_path / "labels.csv").write_text(f"key,label\n{key},1\n")
    command = {"add": ["add", out, source, "--shard-samples", "2", "--jobs", "1"], "remove": ["remove", out, key],
               "set": ["set", out, f"label={tmp_path / 'labels.csv'}"]}[verb]
    bale.ok(*command, env=shim(RECORD=record))
    new, kinds = tree_bytes(out), set()
    found = command[1] = tmp_path / "found"
    for seen, (call, state) in enumerate(new_states(disk, record, random.Random(layout)), 1):
        lay_out(state, out, found)
        files = tree_bytes(found)
        which = "old" if files["manifest.json"] == old["manifest.json"] else "new"
        expected = {"old": old, "new": new}[which]
        assert files["manifest.json"] == expected["manifest.json"], call
        for name, content in expected.items():
            is_list = name == "shardindex.json"  # replaced right before the manifest
            assert files[name] == content or (is_list and files[name] == new[name]), (call, which, name)
        kinds.add(which)
        if seen % by_tier(8, 1) == 0 and (verb == "add" or which == "old"):
            bale.ok(*command, *(["--resume"] if verb == "add" else []))
            assert tree_bytes(found) == new, (call, which)
    assert kinds == {"old", "new"}
    lay_out({path: inode and inode.synced for path, inode in disk.safe_names.items()}, out, found)
    assert tree_bytes(found) == new


@pytest.mark.parametrize("verb, layout", [("rewrite", "tar.plain --sidecars wids"), ("rewrite", "lmdb.plain"), ("purge", "tar.plain"),
                                          ("remove", "tar.plain"), ("prune", "tar.plain")])
def test_old_or_new_version_when_files_go(bale, tiny, verb, layout, tmp_path):
    """In every state: the current version is whole, so is each older one that is not gone, and the run can be finished. Layers of
    several kinds, of which `remove --purge` leaves some, and writes some again without what they say of its shard."""
    out, record = tmp_path / "out", tmp_path / "record"
    bale.pack(tiny, out, *options(layout, 2))
    keys = key_names(bale, out)
    for column, rows in (("label", [(keys[-1], 1)]), ("note", [(key, f"of {key}") for key in keys]), ("label", [(keys[0], 1), (keys[2], 1)])):
        (tmp_path / "table.csv").write_text(f"key,{column}\n" + "".join(f"{key},{value}\n" for key, value in rows))
        if verb in ("purge", "remove"):
            bale.ok("set", out, f"{column if column == 'label' else 'note.txt'}={tmp_path / 'table.csv'}")
    bale.ok("remove", out, keys[0])
    if verb == "prune":
        bale.ok("rewrite", out)
    known, disk = tree_bytes(out), Disk(out)
    disk.hold(out)
    command = {"prune": ["log", out, "--keep", "1", "--prune", "--force"], "rewrite": ["rewrite", out, "--jobs", "1"],
               "purge": ["rewrite", out, "--jobs", "1", "--purge"], "remove": ["remove", out, keys[0], "--purge"]}[verb]
    bale.ok(*command, env=shim(RECORD=record))
    new, found = tree_bytes(out), tmp_path / "found"
    command[1] = found
    contents = {name.split("/")[-1]: content for name, content in {**known, **new}.items()}
    for seen, (call, state) in enumerate(new_states(disk, record, random.Random(layout)), 1):
        lay_out(state, out, found)
        assert (found / "manifest.json").read_bytes() in (known["manifest.json"], new["manifest.json"]), call
        for manifest in [found / "manifest.json", *(found / "versions").glob("*.json")]:
            version = json.loads(manifest.read_bytes())
            for layer in version.get("layers", []):
                name = layer["digest"].partition(":")[2] + ".blay"
                assert (found / "layers" / name).read_bytes() == contents[name], (call, manifest, name)
            for shard in version.get("shards", []):  # none if the version is gone
                for name in (shard["file"], shard["file"] + ".bidx"):
                    places = [path for path in (found / name, found / "versions" / name) if path.exists()]
                    assert {path.read_bytes() for path in places} == {contents[name]}, (call, manifest, name)
        if seen % by_tier(16, 1) == 0:
            bale.ok(*command)
            assert tree_bytes(found) == new, call
    lay_out({path: inode and inode.synced for path, inode in disk.safe_names.items()}, out, found)
    assert tree_bytes(found) == new


def test_what_index_wrote_is_safe(bale, tiny, tmp_path):
    """Bytes and name of every index, once the program has ended."""
    out, record = tmp_path / "out", tmp_path / "record"
    bale.pack(tiny, out, *options("tar.plain", 3), "--seek-points")
    wanted = [path for path in out.iterdir() if path.suffix in (".bidx", ".bseek")]
    assert len(wanted) == 4
    for path in wanted:
        path.unlink()
    result = bale("index", out, "--seek-points", env=shim(RECORD=record))
    assert result.code == 0, result
    disk = Disk(out)
    for call, path, other, offset, data in recorded_calls(record):
        disk.do(call, path, other, offset, data)
    for path in wanted:
        assert str(path) in disk.safe_names, path
        assert disk.safe_names[str(path)].synced == path.read_bytes()

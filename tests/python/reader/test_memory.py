"""A few bytes of a stranger's file cannot take much memory, disk space or a screen full of names."""
import json
import os
import struct
import subprocess
import sys
import tarfile

import lmdb
import pytest
from conftest import PROGRAM, shards, tree_bytes, write_tar

MB = 1_000_000
MIB = 1 << 20
USUAL_BYTES = 200 * MB  # of a process that reads small samples
FAILURE, USAGE, DAMAGE = 1, 2, 3

# The kernel counts what the process before exec had, too: so the program is started by a small one.
STARTER = """
import os, sys
run = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(run, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measured(*args):
    """The exit code, what was printed, and the most memory that the program had."""
    done = subprocess.run([sys.executable, "-S", "-c", STARTER, PROGRAM, *args], capture_output=True, timeout=120)
    *err, peak = done.stderr.decode().splitlines()
    return done.returncode, done.stdout.decode() + "\n".join(err), int(peak) * 1024


def frame(stated, blocks=0, last=1):
    """A zstd frame that states `stated` bytes and has `blocks` blocks of 128 KiB and one of `last` bytes, all zeros;
    one that states nothing has a window of 1 MiB."""
    head = (struct.pack("<IBB", 0xFD2FB528, 0, 0x50) if stated is None else
            struct.pack("<IBQ", 0xFD2FB528, 0xE0, stated))

    def block(size, is_last):
        return struct.pack("<I", size << 3 | 1 << 1 | is_last)[:3] + b"\0"
    return head + block(128 * 1024, 0) * blocks + block(last, 1)


def write_lmdb(path, **fields):
    """A shard of one sample, "a", as bale packs it, without an index: stored names say what is compressed."""
    entries = {b"00000000": b"image", b"00000000.__key__": b"a", b"__len__": b"1",
               b"__bale__": b'{"version":1,"primary":"jpg"}'}
    entries.update({f"00000000.{name.replace('_', '.')}".encode(): content for name, content in fields.items()})
    environment = lmdb.open(str(path), subdir=False, lock=False, map_size=1 << 24)
    with environment.begin(write=True) as transaction:
        for key, value in sorted(entries.items()):
            transaction.put(key, value)
    environment.close()
    return path


# --- compressed fields

@pytest.mark.parametrize("content,text", [
    (frame(1 << 32), "states 4294967296 bytes, which its 17 bytes cannot hold"),
    (frame((1 << 32) - 1) + b"\0" * 200_000, "would expand to 4294967295"),
    (frame(8192 * 128 * 1024 + 1, 8192), "would expand to 1073741825"),  # and it does
    (frame(250 * MIB) + b"\0" * 20_000, "zstd")], ids=["17 bytes", "200 KB", "bomb", "less than stated"])
@pytest.mark.parametrize("command", ["verify", "convert", "index"])
def test_a_compressed_field_takes_no_more_than_its_bytes_are_worth(content, text, command, tmp_path):
    shard = write_lmdb(tmp_path / "a.lmdb", json_zst=content)
    code, printed, peak = measured(command, shard, *([tmp_path / "out"] if command == "convert" else []))
    assert code == (DAMAGE if command == "verify" else FAILURE), printed
    assert text in printed and '"a"' in printed
    assert peak < USUAL_BYTES


def test_a_field_that_compresses_very_well_comes_back(bale, tmp_path):
    """Within what any sample may have, and through packing."""
    shard = write_lmdb(tmp_path / "a.lmdb", json_zst=frame(1024 * 128 * 1024 + 1, 1024))
    assert bale.ok("cat", shard, "a", "--field", "json").stdout == bytes(1024 * 128 * 1024 + 1)
    write_tar(tmp_path / "b.tar", [("a.cls", b"1"), ("a.json", bytes(20 * MIB))])
    bale.ok("convert", tmp_path / "b.tar", tmp_path / "out", "--compress", "zstd")
    assert bale.ok("cat", tmp_path / "out", "a", "--field", "json").stdout == bytes(20 * MIB)


def test_nothing_is_packed_that_reading_refuses(bale, tmp_path):
    """Two fields, each within the allowance, are beyond it together."""
    write_tar(tmp_path / "b.tar", [("a.cls", b"1"), ("a.json", bytes(150 * MIB)), ("a.txt", bytes(150 * MIB))])
    result = bale("convert", tmp_path / "b.tar", tmp_path / "out", "--compress", "zstd")
    assert result.code == USAGE and "readers would reject it as a decompression bomb" in result.error_line()
    bale.ok("convert", tmp_path / "b.tar", tmp_path / "plain")
    bale.ok("verify", tmp_path / "plain")


# --- compressed archives

def seek_table(frames):
    """For frames of (compressed, content) bytes."""
    entries = b"".join(struct.pack("<II", *sizes) for sizes in frames)
    return (struct.pack("<II", 0x184D2A5E, len(entries) + 9) + entries +
            struct.pack("<IBI", len(frames), 0, 0x8F92EAB1))


def test_a_frame_takes_no_more_than_its_bytes_are_worth(tmp_path):
    lie = frame(60 * MIB)
    (tmp_path / "a.tar.zst").write_bytes(lie * 20 + seek_table([(len(lie), 60 * MIB)] * 20))
    code, printed, peak = measured("verify", tmp_path / "a.tar.zst")
    assert code == DAMAGE and "which its 17 bytes cannot hold" in printed
    assert peak < USUAL_BYTES


def test_an_archive_takes_no_more_disk_than_its_bytes_are_worth(tmp_path):
    """64 KB that are a tar of one member of 2 GiB, if anyone unpacks them."""
    (tmp_path / "a.tar.zst").write_bytes(frame(None, 16384))
    code, printed, peak = measured("index", tmp_path / "a.tar.zst")
    assert code == FAILURE and "expand to more than" in printed and "decompress it yourself" in printed
    assert peak < USUAL_BYTES


@pytest.mark.parametrize("exponent,code", [(21, 0), (22, FAILURE)], ids=["2 GiB", "4 GiB"])
def test_a_window_takes_memory_only_as_far_as_it_is_filled(exponent, code, tmp_path):
    """What `zstd --long=31` makes is read; a window that no decoder takes is named."""
    tar = write_tar(tmp_path / "a.tar", [("a.cls", b"1"), ("a.txt", b"text")]).read_bytes()
    (tmp_path / "b.tar.zst").write_bytes(struct.pack("<IBB", 0xFD2FB528, 0, exponent << 3) +
                                         struct.pack("<I", len(tar) << 3 | 1)[:3] + tar)
    found, printed, peak = measured("index", tmp_path / "b.tar.zst")
    assert found == code, printed
    assert code == 0 or "a zstd frame with a window of more than 2 GiB" in printed
    assert peak < USUAL_BYTES


def test_frames_of_all_shards_share_one_cache(bale, tmp_path):
    """200 shards of 4 MiB each, whose frames would be 800 MiB."""
    first = write_tar(tmp_path / "first.tar", [(f"{n:07}.txt", (b"%7d" % n) * (MIB // 7)) for n in range(4)])
    bale.ok("convert", first, tmp_path / "out", "--format", "tar", "--layout", "zst", "--name", "s")
    shard = shards(tmp_path / "out")[0]
    many = tmp_path / "many"
    many.mkdir()
    for n in range(200):
        os.link(shard, many / f"s-{n:06}.tar.zst")
        os.link(f"{shard}.bidx", many / f"s-{n:06}.tar.zst.bidx")
    code, printed, peak = measured("read", many, "--order", "none")
    assert code == 0, printed
    assert peak < USUAL_BYTES


# --- files that say the same bytes are many values

def test_lmdb_values_do_not_share_pages(bale, tmp_path):
    """200 keys, all of which are made to name the one value of 100 pages: 80 MB that are 1 MB, and with more keys any number."""
    path = tmp_path / "a.lmdb"
    environment = lmdb.open(str(path), subdir=False, lock=False, map_size=1 << 24)
    with environment.begin(write=True) as transaction:
        for n in range(200):
            transaction.put(b"image%03d.jpg" % n, bytes(400_000 if n == 0 else 3000))
    environment.close()
    bale.ok("index", path)
    os.remove(f"{path}.bidx")
    content = bytearray(path.read_bytes())

    def node(n):
        at = content.index(struct.pack("<HH", 1, 12) + b"image%03d.jpg" % n)
        return at - 4, at + 16  # of the value's length, of the number of its first page
    length, page = node(0)
    for n in range(1, 200):
        to_length, to_page = node(n)
        content[to_length:to_length + 4] = content[length:length + 4]
        content[to_page:to_page + 8] = content[page:page + 8]
    path.write_bytes(content)
    result = bale("index", path)
    assert result.code == FAILURE and "values share their pages" in result.error_line()


# --- temporary files

@pytest.fixture()
def small_disk(tmp_path):
    """A file system of 12 MB for temporary files."""
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", small],
                                           capture_output=True).returncode != 0:
        pytest.skip("no right to mount a file system")
    yield small
    subprocess.run(["umount", small], check=True)


def gzip_shards(bale, tmp_path, count, member_bytes):
    tmp_path.mkdir(exist_ok=True)
    members = {f"{n:07}.bin": os.urandom(1000) + bytes(member_bytes - 1000) for n in range(count * 4)}
    bale.ok("convert", write_tar(tmp_path / "all.tar", members.items()), tmp_path / "gz", "--format", "tar",
            "--layout", "gz", "--name", "s", "--shard-samples", "4")
    return tmp_path / "gz", members


@pytest.mark.parametrize("order", ["none", "full"])
def test_inflated_shards_fit_a_small_temporary_directory(bale, small_disk, order, tmp_path):
    """Six shards of 4 MiB; only two of them fit at once. Each thread that reads needs room for one."""
    pack, members = gzip_shards(bale, tmp_path / "d", 6, MIB)
    result = bale("read", pack, "--order", order, "--jobs", "1", "--json", env={"TMPDIR": str(small_disk)})
    assert result.code == 0, result
    assert json.loads(result.out)["samples"] == len(members)


@pytest.mark.parametrize("command", [["read"], ["convert", "out"]], ids=lambda command: command[0])
def test_a_temporary_directory_without_room_is_named_with_the_remedy(bale, small_disk, command, tmp_path):
    pack, _ = gzip_shards(bale, tmp_path / "d", 1, 5 * MIB)
    result = bale(command[0], pack, *[tmp_path / name for name in command[1:]], env={"TMPDIR": str(small_disk)})
    assert result.code == FAILURE, result
    line = result.error_line()
    assert f"cannot inflate it into {small_disk}: No space left on device" in line
    assert "s-000000.tar.gz" in line and "set TMPDIR to a directory that has more" in line


@pytest.mark.parametrize("command", [
    ["read"], ["verify"], ["convert", "out", "--on-error", "skip"], ["diff", "gz"], ["remove", "--where", "label = 0"], ["dedup"], ["report"]],
    ids=lambda command: command[0])
def test_no_sample_is_at_fault_where_the_temporary_directory_is(bale, tiny, command, tmp_path):
    """Nothing is called damaged, left out or removed by its key alone."""
    pack = tmp_path / "gz"
    bale.pack(tiny, pack, "--layout", "gz")
    before = tree_bytes(pack)
    result = bale(command[0], pack, *command[1:], cwd=tmp_path, env={"TMPDIR": str(tmp_path / "gone")})
    assert result.code == FAILURE and f"cannot inflate it into {tmp_path}/gone: No such file" in result.error_line()
    assert "set TMPDIR to a directory that can be written" in result.error_line()
    assert tree_bytes(pack) == before and not (tmp_path / "out/manifest.json").exists()


def test_a_limit_of_kept_spills_changes_nothing_but_time(bale, tmp_path):
    pack, members = gzip_shards(bale, tmp_path / "d", 3, 100_000)
    result = bale("convert", pack, tmp_path / "out", "--shuffle", "1", env={"BALE_SPILL_BYTES": "0"})
    assert result.code == 0, result
    for key in ("0000000", "0000007", "0000011"):
        assert bale.ok("cat", tmp_path / "out", key, "--field", "bin").stdout == members[f"{key}.bin"]
    result = bale("read", pack, env={"BALE_SPILL_BYTES": "much"})
    assert result.code == 2 and 'BALE_SPILL_BYTES is "much"; set it to a number of bytes' in result.error_line()


# --- names in messages

NAME = "n" * 30_000 + "\x1b[31m" + "é" * 5_000
LONGEST_LINE = 4096


def write_long_name(path, fields):
    """A key of 40 KB, in a pax header."""
    return write_tar(path, [(NAME + name, content) for name, content in fields], format=tarfile.PAX_FORMAT)


@pytest.mark.parametrize("command", [["verify"], ["index"], ["ls"], ["convert"], ["read"]], ids=lambda c: c[0])
def test_a_notice_shows_the_ends_of_a_long_name(bale, command, tmp_path):
    tar = write_long_name(tmp_path / "a.tar", [(".jpg", b"1"), (".jpg", b"2")])
    result = bale(*command, tar, *([tmp_path / "out"] if command == ["convert"] else []))
    printed = result.err  # the keys that `ls` lists are whole
    assert all(len(line) < LONGEST_LINE for line in printed.splitlines()) and "\x1b" not in printed
    assert "nnnn[..." in printed and "bytes in all ...]" in printed


def test_a_finding_shows_the_ends_of_a_long_name_and_json_all_of_it(bale, tmp_path):
    tar = write_long_name(tmp_path / "a.tar", [(".cls", b"1"), (".jpg", b"image")])
    bale.ok("convert", tar, tmp_path / "out", "--format", "tar")
    shard = shards(tmp_path / "out")[0]
    shard.write_bytes(shard.read_bytes().replace(b"image", b"imagE"))
    result = bale("verify", tmp_path / "out")
    assert result.code == DAMAGE and len(result.out) < LONGEST_LINE and "bytes in all ...]éé" in result.out
    report = json.loads(bale("verify", tmp_path / "out", "--json").out)
    assert {finding["key"] for finding in report["findings"]} == {NAME}

"""Tars that other programs made: what is read, what is ignored and named, what takes how much memory."""
import json
import subprocess
import tarfile

import pytest
import webdataset
from conftest import tree_bytes

BLOCK = 512
END = bytes(2 * BLOCK)


def member(name, content=b"x", **attributes):
    """One member as bytes, without the archive's end."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % BLOCK)


def link(name, target, kind=tarfile.LNKTYPE):
    return member(name, b"", type=kind, linkname=target)


def pax(**records):
    content = b""
    for key, value in records.items():
        length = len(key) + len(value) + 3
        while len(f"{length}") + len(key) + len(value) + 3 != length:
            length = len(f"{length}") + len(key) + len(value) + 3
        content += f"{length} {key}={value}\n".encode()
    return member("pax", content, type=b"x")


def empty_members(names):
    """Many members without data, made fast: headers that differ in name and checksum only."""
    template = tarfile.TarInfo("").tobuf(tarfile.GNU_FORMAT)
    base = sum(template) - sum(template[148:156]) + 8 * 32
    for name in names:
        name = name.encode()
        yield b"%s%06o\0 %s" % (name.ljust(100, b"\0") + template[100:148], base + sum(name), template[156:])


def write_tar(path, *members, end=END):
    path.write_bytes(b"".join(members) + end)
    return path


def samples_of(bale, spec, tmp_path):
    """{file name: content} of what `extract` gives."""
    out = tmp_path / "out"
    tmp_path.mkdir(exist_ok=True)
    bale.ok("extract", spec, out, "--quiet")
    return tree_bytes(out)


def keys_of(bale, spec):
    return bale.ok("ls", spec).out.split()


# --- what is there and not delivered

def test_hard_links_are_read_as_the_files_that_they_lead_to(bale, tmp_path):
    """As `tar` stores the second name of a file. A label may be one too, and a target needs no extension."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.jpg").write_bytes(b"image")
    (tree / "a.cls").write_text("7")
    (tree / "blob").write_bytes(b"blob")
    (tree / "b.jpg").hardlink_to(tree / "a.jpg")
    (tree / "b.cls").hardlink_to(tree / "a.cls")
    (tree / "c.bin").hardlink_to(tree / "blob")
    long_name = "n" * 120
    (tree / f"{long_name}.jpg").write_bytes(b"long")
    (tree / "z.jpg").hardlink_to(tree / f"{long_name}.jpg")
    names = ["a.jpg", "a.cls", "blob", "b.jpg", "b.cls", "c.bin", f"{long_name}.jpg", "z.jpg"]
    expected = {name: (tree / name).read_bytes() for name in names if name != "blob"}
    for index, options in enumerate([["--format=gnu"], ["--format=pax"], ["--format=gnu", "-z"], ["--format=gnu", "-j"]]):
        path = tmp_path / (f"x{index}.tar" + {"-z": ".gz", "-j": ".bz2"}.get(options[-1], ""))
        subprocess.run(["tar", *options, "-cf", path, *names], cwd=tree, check=True)
        assert samples_of(bale, path, tmp_path / f"{index}") == expected, options
        rows = [json.loads(line) for line in bale.ok("ls", "--json", path).out.splitlines()]
        assert {row["key"]: row.get("label") for row in rows if row["key"] in "ab"} == {"a": 7, "b": 7}
        bale.ok("verify", path)
        bale.ok("index", path)
        bale.ok("verify", path)


def odd_members():
    return [link("link.jpg", "a.jpg", tarfile.SYMTYPE), link("early.jpg", "b.jpg"), member("a.jpg", b"one"),
            member("d/.hidden.jpg"), member("d/README"), member("__meta__/x.json"), member("p.jpg", b"", type=b"6"),
            link("gone.jpg", "nowhere.jpg"), member("d", b"", type=b"5"), member("b.jpg", b"two")]


REASONS = {"symbolic link": 1, "hard link to a file that is not before it in the archive": 2, "named pipe": 1,
           "name that begins with a dot": 1, "name without an extension": 1,
           "name that WebDataset reserves (__NAME__)": 1}


@pytest.mark.parametrize("suffix", ["", ".bz2"])
def test_what_is_not_a_field_is_counted_and_named(bale, tmp_path, suffix):
    """By every command that lists or reads the archive, on standard error and in --json."""
    path = write_tar(tmp_path / "x.tar", *odd_members())
    if suffix:
        subprocess.run(["bzip2", path], check=True)
        path = tmp_path / f"x.tar{suffix}"
    for command in [["ls", path], ["inspect", path], ["verify", path], ["extract", path, tmp_path / "out"],
                    ["convert", path, tmp_path / "converted", "--format", "tar"], ["index", path]]:
        done = bale.ok(*command)
        lines = [line for line in done.err.splitlines() if line.startswith("ignored ")]
        assert len(lines) == len(REASONS), done
        assert f"ignored 1 entry: symbolic link (such as {path}: link.jpg)" in lines, done
        assert any(line.startswith("ignored 2 entries: hard link") for line in lines), done
    assert tree_bytes(tmp_path / "out") == {"a.jpg": b"one", "b.jpg": b"two"}
    (tmp_path / f"{path.name}.bidx").unlink()
    for command in [["inspect", "--json", path], ["verify", "--json", path],
                    ["convert", path, tmp_path / "again", "--json", "--format", "tar"]]:
        notices = json.loads(bale.ok(*command).out)["notices"]
        assert notices["reasons"] == REASONS and notices["ignored"] == sum(REASONS.values()), command
        assert {"name": f"{path}: d/README", "why": "name without an extension"} in notices["entries"]


def test_names_of_what_is_ignored_are_bounded(bale, tmp_path):
    path = write_tar(tmp_path / "x.tar", member("a.jpg"), *(member(f"f{i:05}") for i in range(3000)), member("n" * 200_000))
    notices = json.loads(bale.ok("inspect", "--json", path).out)["notices"]
    assert notices["ignored"] == 3001 and len(notices["entries"]) == 100
    assert len(bale.ok("ls", path).err) < 1000


def test_an_archive_without_samples_does_not_pass_verify(bale, tmp_path):
    path = write_tar(tmp_path / "x.tar", member("d/.a.jpg"), member("d/README"))
    done = bale("verify", path)
    assert done.code == 3 and "holds no samples, but 2 other entries" in done.out, done


# --- samples whose files are not next to each other

def test_scattered_files_of_a_sample_are_brought_together(bale, tmp_path):
    """`tar cf` of a folder in the order of its directory. WebDataset makes several samples of one, so it is reported."""
    path = write_tar(tmp_path / "x.tar", member("a.jpg", b"1"), member("b.jpg", b"2"), member("a.cls", b"7"),
                     member("b.cls", b"8"), member("c.jpg", b"3"), member("a.json", b"{}"))
    expected = {"a.jpg": b"1", "a.cls": b"7", "a.json": b"{}", "b.jpg": b"2", "b.cls": b"8", "c.jpg": b"3"}
    theirs = [s["__key__"] for s in webdataset.WebDataset(str(path), shardshuffle=False)]
    assert theirs == ["a", "b", "a", "b", "c", "a"]
    assert samples_of(bale, path, tmp_path) == expected
    listed = bale.ok("ls", "--long", path)
    assert [line.split()[-1] for line in listed.out.splitlines()] == ["a", "b", "c"]
    assert [line.split()[1] for line in listed.out.splitlines()] == ["7", "8", "-"]
    assert "samples are scattered: 3 times, files" in listed.err and "--sort=name" in listed.err
    bale.ok("convert", path, tmp_path / "c", "--format", "tar")
    assert samples_of(bale, tmp_path / "c", tmp_path / "2") == expected
    done = bale("index", path, "--sidecars", "wds2idx")
    assert done.code == 1 and "samples whose files are not next to each other" in done.err, done
    subprocess.run(["bzip2", path], check=True)
    assert samples_of(bale, tmp_path / "x.tar.bz2", tmp_path / "3") == expected


REPEATED = {
    "at once": (["a.jpg=1", "a.jpg=2", "a.jpg=3", "b.jpg=4"], 2),
    "appended": (["a.jpg=1", "a.cls=5", "b.jpg=4", "a.jpg=3"], 1),
    "label": (["a.cls=6", "a.jpg=3", "b.jpg=4", "a.cls=5"], 1),
    "both spellings": (["a.jpg=1", "a.jpeg=8", "b.jpg=4", "a.jpeg=9", "a.jpg=3"], 2),
    "no label any more": (["a.cls=6", "a.jpg=3", "b.jpg=4", "a.cls=" + "x" * 100], 1),
}


@pytest.mark.parametrize("pack", ["", "gzip", "xz"])
@pytest.mark.parametrize("case", REPEATED)
def test_of_repeated_members_the_last_counts(bale, tmp_path, case, pack):
    """As for every program that unpacks them. `tar -r` makes such archives, and so does a script that adds a file twice."""
    files, repeated = REPEATED[case]
    path = write_tar(tmp_path / "x.tar", *(member(name, text.encode()) for name, text in (file.split("=") for file in files)))
    (tmp_path / "theirs").mkdir()
    subprocess.run(["tar", "-xf", path, "-C", tmp_path / "theirs"], check=True)
    if pack:
        subprocess.run([pack, path], check=True)
        path = tmp_path / f"x.tar.{pack.replace('gzip', 'gz')}"
    theirs = tree_bytes(tmp_path / "theirs")
    assert theirs["a.jpg"] == b"3" and samples_of(bale, path, tmp_path) == theirs
    done = bale.ok("ls", "--json", path)
    plural = "1 entry" if repeated == 1 else f"{repeated} entries"
    assert f"ignored {plural}: earlier member of the same key and field (such as {path}: a." in done.err, done
    label = theirs.get("a.cls", b"").decode()
    assert json.loads(done.out.splitlines()[0]).get("label") == (int(label) if label.isdigit() else None)
    bale.ok("verify", path)
    bale.ok("convert", path, tmp_path / "c", "--on-error", "fail")
    assert samples_of(bale, tmp_path / "c", tmp_path / "2") == theirs


# --- what follows an archive

def joined(tmp_path, *paths):
    out = tmp_path / f"joined{''.join(paths[0].suffixes)}"
    out.write_bytes(b"".join(path.read_bytes() for path in paths))
    return out


@pytest.mark.parametrize("program", [[], ["gzip"], ["zstd", "-q", "--rm"], ["bzip2"], ["xz"]], ids=lambda command: command[:1] or "plain")
@pytest.mark.parametrize("blocks", ["1", "20"])
def test_archives_end_to_end_are_all_read(bale, tmp_path, program, blocks):
    """`cat p.tar q.tar`, as `tar -i` reads it, and the same of compressed ones."""
    (tmp_path / "in").mkdir()
    paths = []
    for part in "pqr":
        (tmp_path / "in" / f"{part}.jpg").write_bytes(part.encode() * 700)
        (tmp_path / "in" / f"{part}.cls").write_text("4")
        paths.append(tmp_path / f"{part}.tar")
        subprocess.run(["tar", "-b", blocks, "-cf", paths[-1], f"{part}.cls", f"{part}.jpg"], cwd=tmp_path / "in", check=True)
        if program:
            subprocess.run([*program, paths[-1]], check=True)
            paths[-1] = next(tmp_path.glob(f"{part}.tar*"))
    path = joined(tmp_path, *paths)
    assert samples_of(bale, path, tmp_path) == tree_bytes(tmp_path / "in")
    for command in [["ls", path], ["verify", path], ["convert", path, tmp_path / "c"]]:
        assert f"{path}: several archives lie end to end, and all are read" in bale.ok(*command).err
    assert samples_of(bale, tmp_path / "c", tmp_path / "2") == tree_bytes(tmp_path / "in")
    bale.ok("index", path)
    bale.ok("verify", path)
    assert keys_of(bale, path) == ["p", "q", "r"]


def test_our_own_shards_end_to_end_are_all_read(bale, tmp_path, tiny):
    for layout in ("tar", "tar.gz", "tar.zst"):
        bale.ok("pack", tiny, tmp_path / layout, "--format", layout, "--shard-samples", "2", "--jobs", "1")
        parts = sorted(path for path in (tmp_path / layout).iterdir() if path.name.endswith(layout))
        assert len(parts) > 1
        path = joined(tmp_path, *parts)
        assert samples_of(bale, path, tmp_path / f"{layout}1") == samples_of(bale, tmp_path / layout, tmp_path / f"{layout}2"), layout


@pytest.mark.parametrize("odd", [False, True], ids=["", "sparse"])
@pytest.mark.parametrize("program", ["", "gzip", "bzip2"])
def test_bytes_after_an_archive_are_named(bale, tmp_path, program, odd):
    (tmp_path / "a.jpg").write_bytes(b"1" * 600)
    with open(tmp_path / "a.bin", "wb") as file:
        file.seek(1_000_000)
        file.write(b"end")
    subprocess.run(["tar", *(["-S"] if odd else []), "-cf", "x.tar", "a.jpg", "a.bin"], cwd=tmp_path, check=True)
    path = tmp_path / "x.tar"
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(3 * BLOCK) + b"something else" + bytes(999))
    if program:
        subprocess.run([program, path], check=True)
        path = next(tmp_path.glob("x.tar*"))
    reported = f"ignored 1 entry: data after the end of the archive (such as {path}: 1013 bytes at offset {whole + 3 * BLOCK})"
    for command in [["ls", path], ["verify", path], ["convert", path, tmp_path / "c"]]:
        assert reported in bale.ok(*command).err.splitlines()
    assert keys_of(bale, path) == ["a"]
    for zeros in (0, 1, 700, 100 * BLOCK):
        subprocess.run(["tar", "-cf", tmp_path / "z.tar", "a.jpg"], cwd=tmp_path, check=True)
        with open(tmp_path / "z.tar", "ab") as file:
            file.write(bytes(zeros))
        assert bale.ok("ls", tmp_path / "z.tar").err == ""


@pytest.mark.parametrize("order", [["jpg", "jpeg"], ["jpeg", "jpg"]])
def test_jpg_and_jpeg_in_one_sample_are_two_fields(bale, tmp_path, order):
    path = write_tar(tmp_path / "x.tar", *(member(f"a.{e}", e.encode()) for e in order), member("b.jpeg", b"b"))
    expected = {"a.jpg": b"jpg", "a.jpeg": b"jpeg", "b.jpg": b"b"}
    assert samples_of(bale, path, tmp_path) == expected
    bale.ok("convert", path, tmp_path / "c", "--format", "tar")
    assert samples_of(bale, tmp_path / "c", tmp_path / "2") == expected


# --- what other readers tolerate

def pax_size(content):
    info = tarfile.TarInfo("a.jpg")
    return pax(size=str(len(content))) + info.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % BLOCK)


TOLERATED = {
    "no end marker": ([member("a.jpg", b"1"), member("b.jpg", b"2")], b"", "the archive has no end marker"),
    "a lone zero block": ([member("a.jpg", b"1"), member("b.jpg", b"2"), bytes(BLOCK), member("c.jpg")], END,
                          "a lone zero block ends the archive, and 2048 bytes after it are not read"),
    "sizes in pax headers": ([pax_size(b"1"), member("b.jpg", b"2")], END,
                             "pax headers give members other sizes than their own headers do"),
}


@pytest.mark.parametrize("case", TOLERATED)
def test_what_all_readers_tolerate_is_read_with_a_warning(bale, tmp_path, case):
    """GNU tar, bsdtar (libarchive) and tarfile agree; `verify` finds fault all the same."""
    members, end, warning = TOLERATED[case]
    path = write_tar(tmp_path / "x.tar", *members, end=end)
    names = ["a.jpg", "b.jpg"]
    for program in ["tar", "bsdtar"]:
        done = subprocess.run([program, "-tf", path], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.split() == names
    with tarfile.open(path) as tar:
        assert tar.getnames() == names
    assert samples_of(bale, path, tmp_path) == {"a.jpg": b"1", "b.jpg": b"2"}
    for command in [["ls", path], ["inspect", path], ["convert", path, tmp_path / "c", "--format", "tar"]]:
        done = bale.ok(*command)
        assert f"{path}: {warning}" in done.err, done
    assert json.loads(bale.ok("inspect", "--json", path).out)["notices"]["warnings"][0]["what"].startswith(warning)
    for _ in range(2):  # without and with an index
        done = bale("verify", path)
        assert done.code == 3 and f"{path}: {warning}" in done.out, done
        bale.ok("index", path)


# --- compressions

@pytest.mark.parametrize("program, suffix", [("bzip2", ".bz2"), ("xz", ".xz"), ("lzma", ".lzma"), ("lz4", ".lz4"),
                                             ("compress", ".Z")])
def test_compressed_tars_are_read(bale, tmp_path, program, suffix):
    path = write_tar(tmp_path / "x.tar", member("a.jpg", b"1" * 3000), member("a.cls", b"7"))
    packed = tmp_path / f"y.tar{suffix}"
    filters = {"compress": ["bsdtar", "-cZf", packed, "-C", tmp_path, "@x.tar"], "lzma": ["xz", "--format=lzma", "-k", "-c", path],
               "lz4": ["bsdtar", "--lz4", "-cf", packed, "-C", tmp_path, "@x.tar"]}
    done = subprocess.run(filters.get(program, [program, "-k", "-c", path]), check=True, capture_output=True)
    if done.stdout:
        packed.write_bytes(done.stdout)
    assert samples_of(bale, packed, tmp_path) == {"a.jpg": b"1" * 3000, "a.cls": b"7"}
    bale.ok("verify", packed)


def test_long_windows_of_zstd_are_read(bale, tmp_path):
    """`zstd --long=31` states a window of 2 GiB, which takes the memory that its content fills."""
    path = write_tar(tmp_path / "x.tar", member("a.jpg", b"1" * 3000))
    with open(path, "rb") as tar, open(tmp_path / "y.tar.zst", "wb") as packed:  # a pipe: the size is not known before
        subprocess.run(["zstd", "-q", "--long=31", "-c"], check=True, stdin=tar, stdout=packed)
    refused = subprocess.run(["zstd", "-t", tmp_path / "y.tar.zst"], capture_output=True, text=True)
    assert refused.returncode != 0 and "Window size larger" in refused.stderr
    assert samples_of(bale, tmp_path / "y.tar.zst", tmp_path) == {"a.jpg": b"1" * 3000}


# --- time and memory

def limited(bale, *args, megabytes=600, timeout=60):
    """Runs the program with so much address space."""
    prefix = ["prlimit", f"--as={megabytes << 20}"]
    return bale(*args, prefix=prefix, timeout=timeout)


def test_sparse_members_take_no_memory_for_their_holes(bale, tmp_path):
    """A file of 3.9 GiB of nothing in an archive of 10 KiB."""
    (tmp_path / "a.jpg").write_bytes(b"image")
    with open(tmp_path / "b.bin", "wb") as file:
        file.truncate(3_900_000_000)
    with open(tmp_path / "c.bin", "wb") as file:
        file.truncate(5_000_000_000)
    with open(tmp_path / "d.bin", "wb") as file:
        file.seek(1_000_000)
        file.write(b"end")
    for style in ["gnu", "pax"]:
        path = tmp_path / f"{style}.tar"
        subprocess.run(["tar", f"--format={style}", "-S", "-cf", path, "a.jpg", "b.bin", "c.bin", "d.bin"], cwd=tmp_path,
                       check=True)
        assert path.stat().st_size < 100_000
        done = limited(bale, "verify", path)
        assert done.code == 0 and "ignored 2 entries: sparse file that is nearly all holes" in done.err, done
        assert keys_of(bale, path) == ["a", "d"]
        assert bale.ok("cat", path, "d", "--field", "bin").stdout == bytes(1_000_000) + b"end"


def test_lines_of_hostile_names_are_short(bale, tmp_path):
    """A name of 400 KB in every place of a message."""
    long_name = "k" * 400_000
    path = write_tar(tmp_path / "x.tar", member(f"{long_name}.jpg"), member(f"{long_name}.jpg"))
    done = bale.ok("verify", path)
    assert "earlier member of the same key and field" in done.err
    assert max(len(line) for line in (done.out + done.err).splitlines()) < 3000
    assert len(bale.ok("ls", path).err) < 3000


def test_many_spellings_of_an_extension_take_linear_time(bale, tmp_path):
    """200,000 samples with one extension of 18 letters, spelled in 200,000 ways."""
    halves = ["".join(letter.upper() if n >> i & 1 else letter for i, letter in enumerate("abcdefghi"))
              for n in range(512)]
    names = (f"{n}.{halves[n % 512]}{halves[n // 512]}" for n in range(200_000))
    path = write_tar(tmp_path / "x.tar", *empty_members(names))
    assert len(bale.ok("ls", path, timeout=60).out.splitlines()) == 200_000


def test_late_fields_take_no_time_and_memory_for_samples_that_lack_them(bale, tmp_path):
    """100,000 samples of one field, then one with 250 fields of its own."""
    names = [f"{n}.jpg" for n in range(100_000)] + [f"last.f{n}" for n in range(250)]
    path = write_tar(tmp_path / "x.tar", *empty_members(names))
    subprocess.run(["zstd", "-q", "--rm", path], check=True)
    done = limited(bale, "ls", tmp_path / "x.tar.zst", megabytes=400, timeout=60)
    assert done.code == 0 and len(done.out.splitlines()) == 100_001, done.err


def test_names_in_capital_letters(bale, tmp_path):
    """As from Windows: a compressed tar is known by its name, and shards of a directory by theirs."""
    (tmp_path / "in").mkdir()
    for name, key in (("A.TAR.GZ", "a.jpg"), ("B.TAR", "b.jpg"), ("c.tar", "c.jpg")):
        with tarfile.open(tmp_path / "in" / name, "w:gz" if name.endswith("GZ") else "w") as archive:
            archive.addfile(tarfile.TarInfo(key))
    assert bale.ok("ls", tmp_path / "in" / "A.TAR.GZ").out == "a\n"
    done = bale.ok("ls", tmp_path / "in")
    assert done.out == "a\nb\nc\n" and done.err == ""
    (tmp_path / "in" / "A.TAR.GZ").rename(tmp_path / "nameless")
    assert "compressed archives are known by their extensions" in bale("ls", tmp_path / "nameless").error_line()


def test_a_label_that_stays_a_field_is_told(bale, tmp_path):
    """As the Hub's label.cls, and words of a label."""
    (tmp_path / "x.tar").write_bytes(member("cat/a.jpg") + member("cat/a.label.cls", b"1") + member("dog/b.jpg") + member("dog/b.label.cls", b"0") + END)
    told = 'no sample has a label: "label.cls" stays a field'
    assert told in bale.ok("convert", tmp_path / "x.tar", tmp_path / "out").err
    assert told not in bale.ok("convert", tmp_path / "out", tmp_path / "again").err
    assert told not in bale.ok("pack", tmp_path / "x.tar", tmp_path / "classes", "--class-folders").err
    (tmp_path / "y.tar").write_bytes(member("a.jpg") + member("a.cls.txt", b"cat") + END)
    assert told.replace("label.cls", "cls.txt") in bale.ok("convert", tmp_path / "y.tar", tmp_path / "words").err

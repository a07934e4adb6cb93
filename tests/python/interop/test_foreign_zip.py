"""ZIP archives of images, as zipfile and bsdtar write them, are read in place; classes are their folders."""
import json
import struct
import subprocess
import zipfile

import pytest
from conftest import by_tier, class_names, fields_by_key, flip, images_by_key


def members(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(path, files, method=zipfile.ZIP_STORED, **options):
    with zipfile.ZipFile(path, "w", method, **options) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def images_of(bale, spec):
    """{key: bytes}, whatever the images' extensions are."""
    return {key: data for key, fields in fields_by_key(bale, spec).items() for name, data in fields.items() if name != "cls"}


@pytest.fixture(params=["stored", "deflated", "zip64", "bsdtar", "prefixed"])
def archive(request, photos, tmp_path):
    path = tmp_path / "photos.zip"
    if request.param == "bsdtar":
        subprocess.run(["bsdtar", "--format", "zip", "-cf", path, "-C", photos, "."], check=True)
    elif request.param == "zip64":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members(photos).items():
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as out:
                    out.write(data)
        # Python puts 32-bit numbers into the directory where they fit. These do not.
        path.write_bytes(in_zip64(path.read_bytes()))
        assert set(zipfile.ZipFile(path).namelist()) == set(members(photos))
    else:
        files = members(photos)
        if request.param == "prefixed":  # a program that unpacks itself, and not in the order of the names
            files = dict(reversed(files.items()))
        write(path, files, zipfile.ZIP_DEFLATED if request.param == "deflated" else zipfile.ZIP_STORED)
        if request.param == "prefixed":
            path.write_bytes(b"#!/bin/sh\nexit\n" + path.read_bytes())
    return path


def in_zip64(data):
    """The archive with every number of its directory in ZIP64 fields (APPNOTE 4.3.14, 4.5.3)."""
    end = data.rindex(b"PK\5\6")
    count, size, start = struct.unpack_from("<HII", data, end + 10)
    directory, at = b"", start
    for _ in range(count):
        head = bytearray(data[at:at + 46])
        name, extra, comment = struct.unpack_from("<HHH", head, 28)
        crc, stored, full = struct.unpack_from("<III", head, 16)
        header, = struct.unpack_from("<I", head, 42)
        struct.pack_into("<II", head, 20, 0xffffffff, 0xffffffff)
        struct.pack_into("<I", head, 42, 0xffffffff)
        struct.pack_into("<HHH", head, 28, name, 28, 0)
        directory += bytes(head) + data[at + 46:at + 46 + name] + struct.pack("<HHQQQ", 1, 24, full, stored, header)
        at += 46 + name + extra + comment
    ends = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(directory), start)
    ends += struct.pack("<4sIQI", b"PK\6\7", 0, start + len(directory), 1)
    return data[:start] + directory + ends + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)


def test_images_come_back(bale, photos, archive, tmp_path):
    expected = {key: data for key, (data, _) in images_by_key(photos).items()}
    assert images_of(bale, archive) == expected
    bale.ok("convert", archive, tmp_path / "packed")
    assert images_of(bale, tmp_path / "packed") == expected
    before = archive.read_bytes()
    bale.ok("index", archive)
    bale.ok("verify", archive)
    assert images_of(bale, archive) == expected and archive.read_bytes() == before


def test_classes_are_those_of_imagefolder(bale, photos, archive, tmp_path):
    """At any depth: class numbers, names and bytes are those of the unpacked folder."""
    bale.ok("pack", photos, tmp_path / "folder")
    bale.ok("pack", archive, tmp_path / "packed", "--class-folders")
    assert class_names(tmp_path / "packed") == class_names(tmp_path / "folder")
    assert fields_by_key(bale, tmp_path / "packed") == fields_by_key(bale, tmp_path / "folder")


def test_class_folders_below_others(bale, tiny, tmp_path):
    files = {f"data/v1/{part}/{name}": data for part in ("train", "val") for name, data in members(tiny).items()}
    path = write(tmp_path / "x.zip", files)
    bale.ok("pack", tiny, tmp_path / "folder")
    expected = class_names(tmp_path / "folder")
    bale.ok("pack", path, tmp_path / "packed", "--class-folders", "--include", "data/v1/val/*")
    assert class_names(tmp_path / "packed") == expected
    bale.ok("pack", path, tmp_path / "both", "--class-folders")
    assert class_names(tmp_path / "both") == [b"train", b"val"]


def test_class_folders_that_are_none(bale, tiny, tmp_path):
    image = next(iter(members(tiny).values()))
    path = write(tmp_path / "x.zip", {"a/x.jpg": image, "y.jpg": image})
    result = bale("pack", path, tmp_path / "packed", "--class-folders")
    assert result.code == 2 and "in no class folder" in result.error_line() and "y" in result.error_line()
    bale.ok("pack", path, tmp_path / "one", "--class-folders", "--exclude", "y")
    result = bale("convert", tmp_path / "one", tmp_path / "two", "--class-folders")
    assert result.code == 2 and "that have labels" in result.error_line()
    result = bale("pack", tiny, tmp_path / "three", "--class-folders")
    assert result.code == 2 and "is for packed sources" in result.error_line()


def test_other_files_are_fields_or_named(bale, tmp_path):
    files = {"a/x.jpg": b"\xff\xd8\xff1", "a/x.json": b"{}", "a/x.1.jpg": b"\xff\xd8\xff2", "a/x.PNG": b"\x89PNG\r\n\x1a\n3", "a/": b"",
             "__MACOSX/a/._x.jpg": b"4", "README": b"5", "list.txt": b"6"}
    path = write(tmp_path / "x.zip", files)
    result = bale.ok("ls", "--json", path)
    found = fields_by_key(bale, path)
    assert found == {"a/x": {"jpg": b"\xff\xd8\xff1", "json": b"{}"}, "a/x%2E1": {"jpg": b"\xff\xd8\xff2"},
                     "a/x-00000002": {"png": b"\x89PNG\r\n\x1a\n3"}}
    reported = json.dumps(json.loads(bale.ok("inspect", "--json", path).out)) + result.err
    assert all(name in reported for name in ("__MACOSX/a/._x.jpg", "README", "list.txt"))


def test_symbolic_links_are_named(bale, tmp_path):
    """Their content is a path, not an image."""
    link = zipfile.ZipInfo("a/link.jpg")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a/x.jpg", b"\xff\xd8\xff1")
        archive.writestr(link, "x.jpg")
    assert fields_by_key(bale, tmp_path / "x.zip") == {"a/x": {"jpg": b"\xff\xd8\xff1"}}
    assert f"ignored 1 entry: symbolic link (such as {tmp_path / 'x.zip'}: a/link.jpg)" in bale.ok("ls", tmp_path / "x.zip").err


def test_empty_files(bale, tiny, tmp_path):
    """The data of one begin where the next file does."""
    image = next(iter(members(tiny).values()))
    path = write(tmp_path / "x.zip", {"a/1.jpg": image, "a/2.jpg": b"", "a/2.txt": b"", "a/3.jpg": image, "a/4.jpg": b""})
    bale.ok("convert", path, tmp_path / "packed")
    assert fields_by_key(bale, tmp_path / "packed") == {"a/1": {"jpg": image}, "a/2": {"jpg": b"", "txt": b""}, "a/3": {"jpg": image}, "a/4": {"jpg": b""}}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damage_is_found_by_the_archives_own_checksums(bale, photos, tmp_path, method):
    """Also without an index: each flipped bit of an image is found, and the other images are read."""
    path = write(tmp_path / "x.zip", members(photos), method)
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist()]
    victim = infos[len(infos) // 2]
    flip(path, victim.header_offset + 30 + len(victim.filename) + victim.compress_size // 2)
    result = bale("verify", path)
    assert result.code == 3 and victim.filename.rpartition(".")[0] in result.out + result.err
    result = bale("convert", path, tmp_path / "packed", "--on-error", "skip")
    assert result.code == 4 and len(images_of(bale, tmp_path / "packed")) == len(infos) - 1


def test_truncations_and_flips(bale, tiny, tmp_path):
    """One typed error that names the file, or the samples that are there."""
    path = write(tmp_path / "x.zip", members(tiny))
    whole = path.read_bytes()
    for size in range(0, len(whole), len(whole) // by_tier(20, 500)):
        path.write_bytes(whole[:size])
        result = bale("ls", path)
        assert result.code == 1 and "x.zip: " in result.error_line(), size
    start = whole.index(b"PK\1\2")
    for at in range(start, len(whole), by_tier(17, 1)):
        path.write_bytes(whole)
        flip(path, at, 0x80)
        result = bale("verify", path)
        assert result.code in (0, 1, 3), (at, result)


def test_hostile_directories(bale, tmp_path):
    def refuses(data, what):
        path.write_bytes(data)
        result = bale("ls", path)
        assert result.code == 1 and what in result.error_line(), result

    path = write(tmp_path / "x.zip", {"a.jpg": b"\xff\xd8\xff" + bytes(5000), "b.jpg": b"\xff\xd8\xff" + bytes(5000)}, zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    start = data.index(b"PK\1\2")
    second = data.index(b"PK\1\2", start + 1)
    for offset, value, what in ((second + 42, 0, "overlaps"), (start + 42, 10**6, "lies outside the archive"),
                                (start + 24, 0xf0000000, "rejected for outputs over"), (start + 20, 10**6, "lies outside the archive"),
                                (len(data) - 10, 10**6, "goes beyond its end")):
        changed = bytearray(data)
        struct.pack_into("<I", changed, offset, value)
        refuses(changed, what)
    write(path, {"a.txt": b"1"})
    refuses(path.read_bytes(), "an archive without images")


@pytest.mark.parametrize("system", [0, 3], ids=["windows", "unix"])
def test_backslashes_are_folders(bale, photos, tmp_path, system):
    """As .NET and PowerShell wrote them, and programs that join names by themselves."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, data in members(photos).items():
            info = zipfile.ZipInfo("X")
            info.filename, info.create_system = name.replace("/", "\\"), system
            archive.writestr(info, data)
    write(tmp_path / "y.zip", members(photos))
    assert b"/" not in b"".join(name.encode() for name in zipfile.ZipFile(tmp_path / "x.zip").namelist())
    assert fields_by_key(bale, tmp_path / "x.zip") == fields_by_key(bale, tmp_path / "y.zip")
    done = bale.ok("pack", tmp_path / "x.zip", tmp_path / "packed", "--class-folders")
    assert "names have backslashes between folders" in done.err
    assert class_names(tmp_path / "packed") == sorted(path.name.encode() for path in photos.iterdir())
    write(tmp_path / "in.zip", {"one.zip": (tmp_path / "x.zip").read_bytes()})
    assert set(fields_by_key(bale, tmp_path / "in.zip")) == {f"one/{key}" for key in fields_by_key(bale, tmp_path / "y.zip")}


def test_a_backslash_next_to_folders_is_part_of_a_name(bale, tmp_path):
    path = write(tmp_path / "x.zip", {"a/b.jpg": b"\xff\xd8\xff1", "c\\d.jpg": b"\xff\xd8\xff2"})
    done = bale.ok("ls", path)
    assert len(done.out.split()) == 2 and "a/b" in done.out and "c/d" not in done.out and done.err == ""


@pytest.mark.parametrize("comment", [b"", b"PK\5\6 a comment of a file"])
def test_bytes_after_the_archive_are_named(bale, photos, tmp_path, comment):
    path = write(tmp_path / "x.zip", members(photos))
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment
    whole, keys = path.stat().st_size, bale.ok("ls", path).out
    for rest in (b"\n", bytes(100), b"PK\5\6" + bytes(3), b"x" * 200_000):
        with open(path, "r+b") as file:
            file.truncate(whole)
            file.seek(whole)
            file.write(rest)
        reported = f"ignored 1 entry: data after the end of the archive (such as {path}: {len(rest)} bytes at offset {whole})"
        for command in ("ls", "verify"):
            done = bale.ok(command, path)
            assert reported in done.err.splitlines(), done
        assert bale.ok("ls", path).out == keys
    # The end of an archive in an archive that was cut short is not taken for its own.
    outer = write(tmp_path / "outer.zip", {"1.zip": write(tmp_path / "in.zip", members(photos)).read_bytes(), "2.jpg": bytes(9000)})
    with open(outer, "r+b") as file:
        file.truncate(outer.stat().st_size - 5000)
    assert "cut short" in bale("ls", outer).error_line()


def test_an_archive_before_the_archive_is_named(bale, photos, tmp_path):
    path, other = write(tmp_path / "x.zip", members(photos)), write(tmp_path / "other.zip", {"a.jpg": b"a", "b.jpg": b"b"}).read_bytes()
    keys = bale.ok("ls", path).out
    path.write_bytes(other + path.read_bytes())
    done = bale.ok("ls", path)
    assert f"ignored 1 entry: another archive before the last one (such as {path}: {len(other)} bytes at offset 0)" in done.err.splitlines()
    assert done.out == keys


def encrypted(path, name):
    """The archive with one member that says that it is encrypted (APPNOTE 4.4.4, 6.1), as by `zip -e`: 12 of its bytes are a header."""
    data = bytearray(path.read_bytes())
    for magic, flags, size, length in ((b"PK\3\4", 6, 22, 30), (b"PK\1\2", 8, 24, 46)):
        at = data.index(name.encode(), 0 if length == 30 else data.index(b"PK\1\2")) - length
        assert data[at:at + 4] == magic
        data[at + flags] |= 1
        struct.pack_into("<I", data, at + size, struct.unpack_from("<I", data, at + size)[0] - 12)
    path.write_bytes(data)


@pytest.mark.parametrize("method,words", [(zipfile.ZIP_LZMA, "LZMA (method 14)"), (zipfile.ZIP_BZIP2, "BZIP2 (method 12)"),
                                          (9, "Deflate64 (method 9)"), (77, "method 77"), ("encrypted", "encrypted")])
@pytest.mark.parametrize("others", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_one_member_of_another_method_is_one_bad_sample(bale, photos, tmp_path, method, words, others):
    files = members(photos)
    odd = sorted(files)[3]
    path = tmp_path / "x.zip"
    real = method if method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2) else others
    with zipfile.ZipFile(path, "w", others) as archive:
        for name, data in files.items():
            archive.writestr(name, data, real if name == odd else others)
        archive.writestr(sorted(files)[5].rpartition(".")[0] + ".txt", "x", zipfile.ZIP_LZMA)
    if method == "encrypted":
        encrypted(path, odd)
    elif method != real:
        data = bytearray(path.read_bytes())
        first, last = data.index(odd.encode()) - 30, data.rindex(odd.encode()) - 46
        struct.pack_into("<H", data, first + 8, method)
        struct.pack_into("<H", data, last + 10, method)
        path.write_bytes(data)
    key = odd.rpartition(".")[0]
    assert len(bale.ok("ls", path).out.split()) == len(files)
    done = bale("convert", path, tmp_path / "packed")
    assert done.code == 1 and words in done.error_line() and key in done.error_line(), done
    done = bale("convert", path, tmp_path / "packed", "--on-error", "skip")
    assert done.code == 4 and words in (tmp_path / "packed" / "skipped.jsonl").read_text(), done
    assert "compressed by LZMA (method 14), which bale does not read (such as" in done.err
    found = images_of(bale, tmp_path / "packed")
    assert len(found) == len(files) - 1 and key not in found


def test_a_member_that_is_not_read_takes_no_memory(bale, photos, tmp_path):
    path = write(tmp_path / "x.zip", members(photos))
    data = bytearray(path.read_bytes())
    last = data.rindex(b"PK\1\2")
    data[last + 8] |= 1
    struct.pack_into("<I", data, last + 24, 0xfa000000)
    path.write_bytes(data)
    done = bale("convert", path, tmp_path / "packed", "--on-error", "skip", prefix=["prlimit", f"--as={3 << 30}"])
    assert done.code == 4 and "1 sample skipped" in done.err and "encrypted" in done.err, done


def zip_of_zips(path, folder, method=zipfile.ZIP_STORED, outer=zipfile.ZIP_STORED):
    """One archive for each class, in the reverse order of the names."""
    inner = {}
    for directory in sorted(folder.iterdir(), reverse=True):
        write(path, members(directory), method)
        inner[f"{directory.name}.zip"] = path.read_bytes()
    return write(path, inner, outer), inner


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zips_in_a_zip_pack_like_folders(bale, photos, tmp_path, method):
    path, _ = zip_of_zips(tmp_path / "train.zip", photos, method)
    bale.ok("pack", photos, tmp_path / "folder")
    bale.ok("pack", path, tmp_path / "packed", "--class-folders")
    assert class_names(tmp_path / "packed") == class_names(tmp_path / "folder")
    assert fields_by_key(bale, tmp_path / "packed") == fields_by_key(bale, tmp_path / "folder")
    before = fields_by_key(bale, path)
    bale.ok("index", path)
    bale.ok("verify", path)
    assert fields_by_key(bale, path) == before


def test_damage_in_a_zip_in_a_zip(bale, tiny, tmp_path):
    path, inner = zip_of_zips(tmp_path / "x.zip", tiny)
    data = path.read_bytes()
    name, archive = next(iter(inner.items()))
    start = data.index(archive)

    flip(path, start + archive.index(b"\xff\xd8\xff") + 200)  # without an index: by the member's CRC-32
    result = bale("verify", path)
    assert result.code == 3 and name.removesuffix(".zip") + "/" in result.out + result.err

    directory = archive.index(b"PK\1\2")
    path.write_bytes(data[:start + directory] + b"PK\1\3" + data[start + directory + 4:])
    result = bale("ls", path)
    assert result.code == 1 and f"archive in the archive: {name}: malformed entry" in result.error_line()
    assert f"offset {start + directory}" in result.error_line() and "unpack the outer archive" in result.error_line()

    write(path, {"a.zip": b"no archive"})
    result = bale("ls", path)
    assert result.code == 1 and "archive in the archive: a.zip: no end of a central directory" in result.error_line()
    zip_of_zips(path, tiny, outer=zipfile.ZIP_DEFLATED)
    result = bale("ls", path)
    assert result.code == 1 and f"archive in the archive: {name} is compressed once more" in result.error_line()


def test_archives_next_to_images_stay_what_they_are(bale, tiny, tmp_path):
    """An archive is opened only where there are no images; one in an inner archive is not."""
    _, inner = zip_of_zips(tmp_path / "x.zip", tiny)
    name, archive = next(iter(inner.items()))
    image = next(iter(members(tiny).values()))
    path = write(tmp_path / "y.zip", {"a.jpg": image, "a.zip": archive, name: archive})
    assert {key: set(fields) for key, fields in fields_by_key(bale, path).items()} == {"a": {"jpg", "zip"}}
    write(path, {"deep.zip": (tmp_path / "x.zip").read_bytes(), "note.txt": b"1"})
    result = bale("ls", path)
    assert result.code == 1 and "an archive without images" in result.error_line() and f"deep/{name}" in result.error_line()

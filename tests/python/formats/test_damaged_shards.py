"""convert --on-error skip: a damaged shard costs what is damaged, and everything lost is named and counted."""
import shutil
import tarfile

import pytest
from conftest import LAYOUTS, fields_by_key, flip, ledger, manifest_of, shards, write_tar

FAILURE, SKIPS = 1, 4
SKIP = ["--on-error", "skip"]


def write_archive(path, samples):
    """As img2dataset writes them: no index, the members of a sample together."""
    members = [(f"{key}.{field}", content) for key, fields in samples.items() for field, content in fields.items()]
    write_tar(path, members, format=tarfile.USTAR_FORMAT)


@pytest.fixture
def archives(tmp_path):
    """Four archives of eight samples, and {key: fields} of each."""
    directory = tmp_path / "crawl"
    directory.mkdir()
    contents = []
    for number in range(4):
        contents.append({f"{number}{i:04}": {"jpg": b"\xff\xd8" + bytes([number * 8 + i]) * 1500, "txt": b"caption",
                                             "json": b"{}"} for i in range(8)})
        write_archive(directory / f"{number:05}.tar", contents[-1])
    return directory, contents


def merged(contents):
    return {key: fields for samples in contents for key, fields in samples.items()}


@pytest.mark.parametrize("end", ["inside a payload", "inside a header"])
def test_a_truncated_archive_gives_the_samples_before_its_end(bale, archives, end, tmp_path):
    directory, contents = archives
    victim = directory / "00002.tar"
    sample = 3 * 512 + 1536 + 2 * 512  # three headers, the image in three blocks, two texts
    whole, cut = {"inside a payload": (3, 3 * sample + 1000), "inside a header": (3, 3 * sample + 100)}[end]
    victim.write_bytes(victim.read_bytes()[:cut])

    out = tmp_path / "out"
    assert bale("convert", directory, out).code == FAILURE
    result = bale("convert", directory, out, *SKIP)
    assert result.code == SKIPS, result
    assert str(victim) in result.err and "at least 1 sample skipped" in result.err
    contents[2] = dict(list(contents[2].items())[:whole])
    assert fields_by_key(bale, out) == merged(contents)
    lines = ledger(out)
    assert [line["origin"] for line in lines] == [str(victim)]
    assert lines[0]["samples"] is None and "3 samples before it are taken" in lines[0]["why"]
    assert manifest_of(out)["num_skipped"] == 1
    bale.ok("verify", out)
    with pytest.warns(UserWarning, match="at least 1 sample skipped"):
        pytest.importorskip("bale").convert(directory, tmp_path / "again", on_error="skip")


@pytest.mark.parametrize("cut", [2048, 0], ids=["between members", "between samples"])
def test_an_archive_that_ends_between_members_is_read_with_a_warning(bale, archives, cut, tmp_path):
    """GNU tar, libarchive and Python's tarfile read it without a word; `verify` is strict."""
    directory, contents = archives
    victim = directory / "00002.tar"
    victim.write_bytes(victim.read_bytes()[:3 * (3 * 512 + 1536 + 2 * 512) + cut])
    result = bale.ok("convert", directory, tmp_path / "out")
    assert [line for line in result.err.splitlines() if str(victim) in line and "end" in line], result
    whole = dict(list(contents[2].items())[:3])
    if cut:
        key, fields = list(contents[2].items())[3]
        whole[key] = {"jpg": fields["jpg"]}
    contents[2] = whole
    assert fields_by_key(bale, tmp_path / "out") == merged(contents)
    assert bale("verify", victim).code == 3


def test_a_damaged_header_in_the_middle(bale, archives, tmp_path):
    directory, contents = archives
    victim = directory / "00000.tar"
    flip(victim, 4 * 4096 + 2048 + 20, 0xFF)  # of the fifth sample's caption
    result = bale("convert", directory, tmp_path / "out", *SKIP)
    assert result.code == SKIPS, result
    contents[0] = dict(list(contents[0].items())[:4])
    assert fields_by_key(bale, tmp_path / "out") == merged(contents)
    assert [line["origin"] for line in ledger(tmp_path / "out")] == [str(victim)]


@pytest.mark.parametrize("content", ["nothing", "noise", "a web page", "no file"])
def test_what_is_not_a_shard_is_skipped_by_its_name(bale, archives, content, tmp_path):
    directory, contents = archives
    victim = directory / "00001.tar"
    victim.write_bytes({"nothing": b"", "noise": bytes(range(256)) * 40, "a web page": b"<html>not found</html>",
                        "no file": b""}[content])
    if content == "no file":
        victim.unlink()
    spec = f"{directory}/{{00000..00003}}.tar"
    assert bale("convert", spec, tmp_path / "out").code == FAILURE
    result = bale("convert", spec, tmp_path / "out", *SKIP)
    assert result.code == SKIPS, result
    assert str(victim) in result.err
    del contents[1]
    assert fields_by_key(bale, tmp_path / "out") == merged(contents)
    assert [line["origin"] for line in ledger(tmp_path / "out")] == [str(victim)]


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".hdf5", ".rec", ".mds", ".beton", ".zip", ".npy", ".mdb", "", ".txt"])
def test_what_was_not_fetched_is_said(bale, suffix, tmp_path):
    """Before a format claims the file by its name."""
    path = tmp_path / f"x{suffix}"
    for content, says in (("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n", "a Git LFS pointer, not the file itself"),
                          ("\n\n <!DOCTYPE html>\n<html>Not found</html>", "an HTML page, and no shard"),
                          ('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "an XML text, and no shard")):
        path.write_text(content)
        found = bale("verify", path)
        assert found.code == 3 and f"{path}: {says}" in found.out, found
        result = bale("pack", path, tmp_path / "out")
        assert result.code == FAILURE and f"{path}: {says}; " in result.error_line(), result
        assert ("git lfs pull" if "LFS" in says else "download it again") in result.error_line()


def test_nothing_but_damage_is_an_error(bale, archives, tmp_path):
    directory, _ = archives
    for path in directory.iterdir():
        path.write_bytes(b"damaged")
    result = bale("convert", directory, tmp_path / "out", *SKIP)
    assert result.code == FAILURE, result
    assert not (tmp_path / "out").exists()


def test_index_continues_after_a_damaged_archive(bale, archives):
    directory, _ = archives
    victims = [directory / "00001.tar", directory / "00002.tar"]
    for victim in victims:
        victim.write_bytes(victim.read_bytes()[:3000])
    result = bale("index", directory)
    assert result.code == SKIPS and "2 shards indexed" in result.out
    for victim in victims:
        assert f"{victim}: not indexed: " in result.err
    assert sorted(path.name for path in directory.glob("*.bidx")) == ["00000.tar.bidx", "00003.tar.bidx"]
    assert bale("index", directory, "--quiet").code == SKIPS  # and again, with those that have one
    alone = bale("index", victims[0])
    assert alone.code == FAILURE and str(victims[0]) in alone.error_line()


@pytest.mark.parametrize("layout", [".".join(layout) for layout in LAYOUTS])
@pytest.mark.parametrize("damage", ["truncated", "gone", "index damaged"])
def test_a_damaged_shard_of_ours(bale, photos, layout, damage, tmp_path):
    packed = tmp_path / "packed"
    bale.pack(photos, packed, "--format", layout, "--shard-samples", "10")
    originals = fields_by_key(bale, packed)
    victim = shards(packed)[1]
    if damage == "truncated":
        victim.write_bytes(victim.read_bytes()[:victim.stat().st_size // 2])
    elif damage == "gone":
        victim.unlink()
    else:
        index = victim.with_name(victim.name + ".bidx")
        index.write_bytes(index.read_bytes()[:-20])
    out = tmp_path / "out"
    assert bale("convert", packed, out).code == FAILURE
    shutil.rmtree(out, ignore_errors=True)
    result = bale("convert", packed, out, *SKIP)
    assert result.code == SKIPS, result
    assert str(victim) in result.err
    taken = fields_by_key(bale, out)
    assert {key: fields for key, fields in originals.items() if key in taken} == taken
    manifest = manifest_of(out)
    lost = len(originals) - manifest["num_samples"]
    assert manifest["num_skipped"] == max(lost, 1)  # the shard's own line, even if all of its samples can be read
    assert f"bale: {lost} sample{'s' if lost != 1 else ''} skipped; " in result.err  # and the shard's line is none
    assert manifest["num_samples"] >= 30
    if (layout, damage) == ("tar.plain", "truncated"):
        assert manifest["num_samples"] >= 33  # by the index, those whose bytes are there
    assert any(line["origin"] == str(victim) for line in ledger(out))
    bale.ok("verify", out)

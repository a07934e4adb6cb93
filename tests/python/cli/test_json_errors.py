"""JSON of other origin: what is wrong with it is said in bale's words, and odd names in it come through."""
import tarfile

import pytest
from conftest import key_list, manifest_of, write_tar

FAILURE, USAGE = 1, 2

BROKEN = {
    "not JSON": "{\"a\": ",
    "not UTF-8": b"{\"bale_manifest\": 1, \"name\": \"\xff\xfe\"}",
    "an array": "[1, 2]",
    "a number": "17",
    "a stranger's": '{"name": "extension", "version": "1.0", "manifest_version": 3}',
    "its version text": '{"bale_manifest": "one"}',
    "members missing": '{"bale_manifest": 1}',
    "wrong types": '{"bale_manifest": 1, "name": 7, "format": [], "layout": {}, "num_samples": 0, "num_skipped": 0, '
                   '"fields": 3, "classes": "x", "shards": true, "plan": 0, "created_by": null}',
    "a shard that is text": '{"bale_manifest": 1, "name": "x", "format": "tar", "layout": "plain", "num_samples": 0, '
                            '"num_skipped": 0, "fields": [], "classes": [], "shards": ["x"], "plan": "", '
                            '"created_by": ""}',
    "edits that are text": '{"bale_manifest": 1, "name": "x", "format": "tar", "layout": "plain", "num_samples": 0, '
                           '"num_skipped": 0, "fields": [], "classes": [], "shards": [], "edits": "x", "plan": "", '
                           '"created_by": ""}',
    "deep": "[" * 100_000,
}


def check_words(result, *codes):
    assert result.code in codes, result
    line = result.error_line()
    assert "json" not in line.replace("manifest.json", "").replace(".jsonl", "").replace("classes.json", "") \
        .replace("JSON", ""), line
    assert "exception" not in line and "type_error" not in line and "parse_error" not in line, line
    return line


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_manifest(bale, content, tmp_path):
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "manifest.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in ["inspect", "ls", "verify", "pack", "convert"]:
        more = [tmp_path / "out"] if command in ("pack", "convert") else []
        result = bale(command, directory, *more)
        if command == "verify" and result.code == 3:
            assert "exception" not in result.out + result.err
            continue
        assert str(directory / "manifest.json") in check_words(result, FAILURE)


@pytest.mark.parametrize("content", ['{"cat": "one"}', '{"cat": 1.5}', '{"cat": {}}', '[1, 2]', '["a", null]', '{"0": 7}',
                                     '{"0": [1]}', '{"a', "[" * 200, b'["\xff"]', '{"cat": 99999999999999999999}'])
def test_a_class_map(bale, tiny, content, tmp_path):
    classes = tmp_path / "classes.json"
    classes.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = bale("pack", tiny, tmp_path / "out", "--class-map", classes)
    assert str(classes) in check_words(result, FAILURE, USAGE)


@pytest.mark.parametrize("row", [b'{"path": 7', b'"text"', b'{"path": []}', b'{"path": "1.jpg", "label": {}}', b"[" * 200,
                                 b'{"path": "\xff.jpg"}', b'[]', b'nothing'])
def test_a_table(bale, row, tmp_path):
    table = tmp_path / "table.jsonl"
    table.write_bytes(row + b"\n")
    result = bale("pack", table, tmp_path / "out")
    assert str(table) in check_words(result, FAILURE, USAGE)


def test_an_extension_that_is_not_utf8(bale, tiny, tmp_path):
    """Its field keeps its name through packing, converting and reading."""
    archive = tmp_path / "in.tar"
    image = next(tiny.rglob("*.JPEG")).read_bytes()
    write_tar(archive, [("1.jpg", image), ("1.caf\udce9", b"odd")], format=tarfile.GNU_FORMAT, encoding="utf-8",
              errors="surrogateescape")
    bale.ok("convert", archive, tmp_path / "out")
    names = [field["name"] for field in manifest_of(tmp_path / "out")["fields"]]
    assert names == ["jpg", {"hex": "caf\udce9".encode("utf-8", "surrogateescape").hex()}]
    bale.ok("convert", tmp_path / "out", tmp_path / "again", "--format", "tar", "--resume")
    for spec in [tmp_path / "out", tmp_path / "again"]:
        assert bale.ok("cat", spec, "1", "--field", b"caf\xe9").stdout == b"odd"
        for command in ["inspect", "ls", "verify"]:
            bale.ok(command, spec, "--json")
        assert key_list(bale, spec) == [b"1"]

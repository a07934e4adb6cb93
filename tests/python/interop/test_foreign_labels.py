"""The text of a `cls` field: whole numbers of every spelling are labels, and anything else is reported with its sample."""
import json

import lmdb
import pytest
from conftest import write_tar

IMAGE = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108020000009077" "53de0000000c4944415408d763f8cfc000000301010018dd8db0"
                      "0000000049454e44ae426082")


def tar_of(path, cls):
    write_tar(path, [("a.png", IMAGE), ("a.cls", b"3"), ("b.png", IMAGE), ("b.cls", cls)])


def lmdb_of(path, cls):
    with lmdb.open(str(path), subdir=False, map_size=1 << 24) as env, env.begin(write=True) as txn:
        for key, value in ((b"a", b"3"), (b"b", cls)):
            number = b"00" if key == b"a" else b"01"
            txn.put(number, IMAGE)
            txn.put(number + b".cls", value)


MAKERS = {"tar": tar_of, "lmdb": lmdb_of}


def labels_and_words(bale, path):
    result = bale.ok("ls", "--json", path)
    return [json.loads(line).get("label") for line in result.out.splitlines()], result.err


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("text, label", [("8.0", 8), ("\ufeff8", 8), ("\ufeff 8.000 \r\n", 8), ("8.", 8), ("-2.0", -2), ("8e0", 8),
                                         ("8.000000000000000000e+00", 8), ("1.2e1", 12), ("007", 7)])
def test_whole_numbers_are_labels(bale, make, text, label, tmp_path):
    make(tmp_path / "x", text.encode())
    labels, words = labels_and_words(bale, tmp_path / "x")
    assert labels == [3, label] and "cls" not in words


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("text", ["cat", "8.5", "nan", "inf", "8 9", "1e300", "0x8", "8.0.0", "99999999999999999999", "a" * 500])
def test_what_is_not_a_number_is_reported(bale, make, text, tmp_path):
    make(tmp_path / "x", text.encode())
    labels, words = labels_and_words(bale, tmp_path / "x")
    key = "b" if make is tar_of else "01"
    assert labels == [3, None]
    assert "ignored 1 entry: cls that is not a whole number" in words and f'{key}: "{text[:40]}"' in words
    converted = bale.ok("convert", tmp_path / "x", tmp_path / "out")
    assert "not a whole number" in converted.out + converted.err


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_not_a_label(bale, text, tmp_path):
    tar_of(tmp_path / "x", text.encode())
    labels, words = labels_and_words(bale, tmp_path / "x")
    assert labels == [3, None] and "cls" not in words

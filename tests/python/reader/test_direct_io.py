"""`bale read` around the page cache and through it: the same samples, the same errors."""
import json

import pytest
from conftest import ALL_FORMATS, format_options, shards, shim

FAILURE, USAGE = 1, 2
PACK_OPTIONS = ["--shard-samples", "15"]
BEYOND_MEMORY = {"BALE_MEMORY_BYTES": "1"}
# The options and the environment of each way to read.
WAYS = {"around": (["--direct"], {}), "through": (["--no-direct"], {}), "chosen": ([], BEYOND_MEMORY), "usual": ([], {})}


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_all_samples_are_read(bale, photos, format_name, tmp_path):
    bale.pack(photos, tmp_path / "packed", *format_options(format_name), "--shard-samples", "15")
    expected = json.loads(bale.ok("read", tmp_path / "packed", "--json").out)
    for options, env in WAYS.values():
        rates = json.loads(bale.ok("read", tmp_path / "packed", "--shuffle", "1", "--json", *options, env=env).out)
        assert (rates["samples"], rates["bytes"]) == (expected["samples"], expected["bytes"])


@pytest.mark.parametrize("way", WAYS)
def test_a_disk_that_cannot_be_read(bale, pack, way):
    """EIO at every read of one shard."""
    options, env = WAYS[way]
    victim = shards(pack)[1]
    result = bale("read", pack, "--shuffle", "1", *options, env=env | shim(UNREADABLE=victim.name))
    assert result.code == FAILURE
    assert victim.name in result.error_line() and "Input/output error" in result.error_line()


@pytest.mark.parametrize("way", WAYS)
def test_a_read_that_is_interrupted_is_continued(bale, pack, way):
    options, env = WAYS[way]
    rates = json.loads(bale.ok("read", pack, "--shuffle", "1", "--json", *options, env=env | shim(EINTR=1)).out)
    assert rates["samples"] == 40


def test_a_limit_that_is_not_a_number(bale, pack):
    result = bale("read", pack, "--shuffle", "1", env={"BALE_MEMORY_BYTES": "much"})
    assert result.code == USAGE
    assert 'BALE_MEMORY_BYTES is "much"; set it to a number of bytes' in result.error_line()


def test_ways_that_exclude_each_other(bale, pack):
    assert bale("read", pack, "--direct", "--large-transfers").code == USAGE

"""Tars without an index on servers: what goes through them in stored order scans a shard just before it reads it. The first
samples come before the last shards are asked for, and each byte is fetched once."""
import json
import os
import pathlib
import shutil
import threading

import pytest
from conftest import shards
from remote_support import RANGES, files_size, foreign_tars, read_counts, remote, serve, start, without_ranges  # noqa: F401

SHARDS, EACH = 16, 6
PATTERN = "x-{000000..000015}.tar"
LAST = "/x-000015.tar"


@pytest.fixture(scope="module")
def foreign(bale, tmp_path_factory):
    """Tars alone, of 900 KB each."""
    return foreign_tars(bale, tmp_path_factory.mktemp("foreign"), SHARDS, EACH)


@pytest.fixture
def server(foreign, serve):  # noqa: F811
    return serve(foreign)


def listed(run, spec):
    """What a scan knows of the samples, in order: no widths and heights."""
    rows = [json.loads(line) for line in run.ok("ls", "--json", spec).out.splitlines()]
    return [(row["index"], row["key"], row["label"], row["fields"], pathlib.Path(row["shard"]).name) for row in rows]


def test_ls_prints_before_the_last_shard_answers(remote, server):  # noqa: F811
    """The server answers for the last shard when a key of the first one was printed."""
    printed = threading.Event()
    server.add(LAST, times=None, before=lambda: printed.wait(60))
    process = start(remote, "ls", f"{server.url}/{PATTERN}")
    first = process.stdout.readline()
    assert first.endswith("\n") and not printed.is_set()
    printed.set()
    rest = process.stdout.read()
    assert process.wait(120) == 0, process.stderr.read()
    assert len(rest.splitlines()) == SHARDS * EACH - 1


@RANGES
def test_read_fetches_each_byte_once(bale, remote, server, foreign, ranges):  # noqa: F811
    without_ranges(server, ranges)
    assert read_counts(remote, f"{server.url}/{PATTERN}") == read_counts(bale, f"{foreign}/{PATTERN}")
    assert server.sent("*.tar") <= 1.02 * files_size(foreign)


@RANGES
def test_read_through_a_small_cache(remote, foreign, serve, tmp_path, ranges):  # noqa: F811
    """Of half of the dataset's size. Each byte is fetched once nevertheless."""
    for copy in range(9):
        for shard in shards(foreign):
            os.link(shard, tmp_path / f"{copy}-{shard.name}")
    served = files_size(tmp_path)
    server = serve(tmp_path)
    without_ranges(server, ranges)
    remote.env.update(BALE_CACHE_LIMIT="64MiB", BALE_CACHE_DIR=str(foreign.parent / f"cache-{ranges}"))
    spec = "::".join(f"{server.url}/{copy}-{PATTERN}" for copy in range(9))
    assert read_counts(remote, spec)[0] == 9 * SHARDS * EACH
    assert served > 1.9 * (64 << 20)
    assert server.sent("*.tar") <= 1.02 * served


def test_read_goes_a_few_shards_ahead(remote, server):  # noqa: F811
    """While the samples of the second shard cannot be had, no shard after the few ahead of it is asked for."""
    server.add("/x-000001.tar", times=None, status=404)
    result = remote("read", "--json", f"{server.url}/{PATTERN}")
    assert result.code != 0, result.err
    asked = {request.path for request in server.asked("*.tar")}
    assert "/x-000000.tar" in asked and LAST not in asked


def test_the_same_samples_as_with_indexes(bale, remote, server, foreign, tmp_path):  # noqa: F811
    for shard in shards(foreign):
        os.link(shard, tmp_path / shard.name)
    bale.ok("index", f"{tmp_path}/{PATTERN}")
    assert listed(remote, f"{server.url}/{PATTERN}") == listed(bale, f"{tmp_path}/{PATTERN}")
    assert read_counts(remote, f"{server.url}/{PATTERN}") == read_counts(bale, f"{tmp_path}/{PATTERN}")


def test_a_damaged_shard_found_late(remote, foreign, serve, tmp_path):  # noqa: F811
    """What comes before it is listed; then the error names it, with the exit code that it had before."""
    for shard in shards(foreign):
        shutil.copy(shard, tmp_path)
    with open(tmp_path / LAST[1:], "r+b") as file:
        file.write(b"no tar" * 200)
    server = serve(tmp_path)
    result = remote("ls", f"{server.url}/{PATTERN}")
    assert result.code != 0 and LAST in result.err
    assert len(result.out.splitlines()) == (SHARDS - 1) * EACH


def test_cat_stops_at_the_sample(remote, server):  # noqa: F811
    """A key of the first shard is found without the last ones."""
    key = remote.ok("ls", f"{server.url}/x-000000.tar").out.splitlines()[0]
    server.clear()
    remote.ok("cat", f"{server.url}/{PATTERN}", key, "--field", "cls")
    assert not server.asked(LAST)

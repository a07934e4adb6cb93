"""Runs that are killed or that fail at a chosen system call: by the shim (tests/support/shim/shim.c), in every layout."""
import signal

from conftest import ALL_LAYOUTS, LAYOUTS, SHIM, shim, tree_bytes

KILLED = -signal.SIGKILL

# Left out for the time that they take: other layouts of their formats are taken.
_LEFT_OUT = [("tar", "gz"), ("hdf5", "array")]
FAULT_LAYOUTS = [".".join(layout) + ("" if layout in LAYOUTS else " --size 16")
                 for layout in ALL_LAYOUTS if layout not in _LEFT_OUT]
FAULT_LAYOUTS_AND_MORE = [*FAULT_LAYOUTS, "tar.plain --sidecars wds2idx,wids,timm,energon", "tar.plain --seek-points"]


def options(layout, samples):
    """`layout` is FORMAT.LAYOUT and what else is asked for. One job: the order of calls is then always the same."""
    return ["--format", *layout.split(), "--name", "x", "--shard-samples", str(samples), "--jobs", "1"]


def count_calls(bale, folder, *arguments, code=0, env=None):
    """How many calls that the shim counts `bale ARGUMENT...` makes. `env` has the shim's settings; `folder` is for a file
    of its own."""
    counter = folder / "counter"
    counter.write_bytes(bytes(8))
    result = bale(*arguments, env={"LD_PRELOAD": str(SHIM), **(env or {}), "BALE_SHIM_COUNT": str(counter)})
    assert result.code == code, result
    return int.from_bytes(counter.read_bytes(), "little")


def check_only_whole_files(directory, expected):
    """Everything under a final name is byte for byte what it will be in the end."""
    if not directory.exists():
        return
    for name, content in tree_bytes(directory).items():
        if name in expected:
            assert content == expected[name], name
    if (directory / "manifest.json").exists():  # written last of all
        assert set(tree_bytes(directory)) >= set(expected)


def resume(bale, source, out, pack_options):
    result = bale("pack", source, out, *pack_options, "--resume")
    assert result.code == 0, result


def broken_off(bale, source, out, *sizing):
    env = shim(UNREADABLE="/".join(sorted(source.rglob("*.JPEG"))[-1].parts[-2:]))
    assert bale("pack", source, out, "--name", "x", "--jobs", "1", *sizing, env=env).code == 1
    assert (out / ".bale-partial").exists()

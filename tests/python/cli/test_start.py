"""Programs start with few libraries. Those that most runs never call are opened at first use, and one that is missing is named."""
import os
import re
import subprocess

import pytest
from conftest import BUILD
from image_support import encoded, picture
from PIL import Image

# What CMake found: {"curl": ("libcurl.so.4", "libcurl4")}. Empty where all are static.
LAZY = {name.lower(): (library, package) for header in sorted((BUILD / "generated").glob("bale_lazy_*.hpp"))
        for name, library, package in re.findall(r'#define BALE_LAZY_(\w+) "([^"]+)", "([^"]*)"', header.read_text())}


@pytest.mark.parametrize("program", ["bale", "bale-worker"])
def test_few_libraries_are_loaded(program):
    listed = subprocess.run([BUILD / "bin" / program], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True,
                            text=True, check=True, timeout=60).stdout
    libraries = [line.split()[0] for line in listed.splitlines()]
    assert 0 < len(libraries) <= 25, libraries
    assert not re.search("lib(hdf5|curl|avif|jxl|hwy|ssl|crypto|archive|tiff)", listed), libraries


def hide(folder, names):
    """The environment of a process that finds an empty file instead of each of these libraries."""
    folder.mkdir()
    for name in names:
        (folder / LAZY[name][0]).touch()
    return {"LD_LIBRARY_PATH": str(folder), "AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "AWS_CONFIG_FILE": "/nowhere"}


@pytest.mark.skipif(not LAZY, reason="all libraries are static")
def test_a_library_that_is_missing_is_named(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed")
    subprocess.run(["tar", "-C", photos, "-cJf", tmp_path / "photos.tar.xz", "."], check=True)
    keys = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}
    for number, (name, command, extra) in enumerate([("hdf5", ["pack", photos, tmp_path / "new", "--format", "hdf5"], {}),
                                           ("curl", ["ls", "http://127.0.0.1:1/x.tar"], {}),
                                           ("curl", ["ls", "s3://bucket/x.tar"], {}),
                                           ("crypto", ["ls", "s3://bucket/x.tar"], keys),
                                           ("archive", ["ls", tmp_path / "photos.tar.xz"], {}),
                                           ("hwy", ["bench", tmp_path / "packed", "--stages", "train", "--batch", "8", "--epochs", "1"], {})]):
        environment = hide(tmp_path / f"without-{number}", [name])
        result = bale(*command, env={**environment, **extra})
        library, package = LAZY[name]
        assert f"cannot load a library: {environment['LD_LIBRARY_PATH']}/{library}: file too short" in result.err, result
        if name != "hwy":  # whose error is that of each sample
            assert result.code == 1 and result.error_line().endswith(f"; apt-get install {package}" if package else library), result


@pytest.mark.skipif(not LAZY, reason="all libraries are static")
def test_a_library_that_is_missing_condemns_only_what_needs_it(bale, photos, tmp_path):
    """An image of a kind whose library is missing is a bad sample. What needs none of them is as it was."""
    environment = hide(tmp_path / "without", LAZY)
    bale.ok("pack", photos, tmp_path / "packed", env=environment)
    bale.ok("verify", tmp_path / "packed", env=environment)
    image = Image.fromarray(picture(8, 8))
    kinds = {"tiff": encoded(image, "TIFF"), "avif": b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf" + bytes(64), "jxl": b"\xff\x0a" + bytes(64)}
    for kind, content in kinds.items():
        if kind not in LAZY:
            continue
        (tmp_path / kind).write_bytes(content)
        said = subprocess.run([BUILD / "tests" / "bale_pixel_tool", "each", tmp_path / kind], env={**os.environ, **environment},
                              capture_output=True, text=True, check=True, timeout=60).stdout
        assert f"cannot load a library: {tmp_path}/without/{LAZY[kind][0]}: file too short" in said, said

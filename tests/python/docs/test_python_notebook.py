"""What a notebook shows of a Dataset and a Loader: small, escaped HTML with thumbnails, also of data that is damaged or hostile."""
import base64
import html.parser
import io
import json
import os
import re
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from conftest import images_by_key
from PIL import Image
from python_support import ENVIRONMENT, run_script

import bale as bl

MAX_BYTES = 100_000  # of what a cell stores
VOID = {"img"}


class _Seen(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.sources, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open += [] if tag in VOID else [tag]
        self.sources += [value for name, value in attrs if name == "src"]
        assert all(name in ("style", "src", "alt") for name, _ in attrs), attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def seen(shown):
    text = shown._repr_html_()
    assert len(text.encode()) < MAX_BYTES  # and can be stored as UTF-8
    found = _Seen(text)
    assert set(found.tags) <= {"div", "code", "pre", "table", "tr", "th", "td", "figure", "figcaption", "img", "small"}
    return found


def pixels_of(source):
    kind, content = re.fullmatch(r"data:image/(\w+);base64,([\w+/=]+)", source).groups()
    image = Image.open(io.BytesIO(base64.b64decode(content)))
    assert image.format.lower() == kind
    return image


def test_dataset(pack, photos):
    found = seen(bl.Dataset(pack))
    assert "40" in found.text and str(pack) in found.text and "jpg" in found.text
    assert len(found.sources) == 8 and bl.Dataset(pack).version in found.text
    expected = images_by_key(photos)
    dataset = bl.Dataset(pack)
    for source, i in zip(found.sources, range(0, 40, 5)):
        assert dataset.key(i) in found.text
        image, original = pixels_of(source), Image.open(io.BytesIO(expected[dataset.key(i)][0]))
        assert max(image.size) == min(96, max(original.size))
        original = original.convert("RGB").resize(image.size)
        assert np.abs(np.asarray(image, float) - np.asarray(original, float)).mean() < 16


@pytest.mark.skipif(not os.environ.get("BALE_TEST_EXAMPLES_PYTHON"), reason="needs PyTorch: scripts/test.sh installs it")
def test_the_lines_that_train(pack):
    text = _Seen(bl.Dataset(pack)._repr_html_()).text
    lines = text[text.index("import bale"):].partition("loader: ...")[0].replace("batch_size=256", "batch_size=8")
    printed = run_script(lines + "loader: break\nprint(*images.shape, images.dtype, len(labels))", python=os.environ["BALE_TEST_EXAMPLES_PYTHON"])
    assert printed.split() == ["8", "3", "224", "224", "torch.uint8", "8"]


def test_show(pack):
    dataset = bl.Dataset(pack)
    found = seen(dataset.show(5, size=32))
    assert len(found.sources) == 5 and all(max(pixels_of(source).size) == 32 for source in found.sources)
    assert len(seen(dataset.show(100)).sources) == 40
    chosen = dataset.show(positions=[3, -1, 3])
    assert len(chosen) == 3 and [line.split(":")[0] for line in repr(chosen).split("\n")] == ["3", "39", "3"]
    assert f"({dataset.classes[dataset.label(3)]})" in repr(chosen)
    assert len(seen(dataset.show(0)).sources) == 0
    for arguments in ({"n": -1}, {"size": 0}, {"size": 1025}):
        with pytest.raises(ValueError):
            dataset.show(**arguments)
    with pytest.raises(IndexError):
        dataset.show(positions=[40])


def jpeg(color=(200, 30, 30)):
    made = io.BytesIO()
    Image.new("RGB", (40, 20), color).save(made, "JPEG")
    return made.getvalue()


def deep_png():
    made = io.BytesIO()
    Image.fromarray(np.full((20, 40), 40000, np.uint16)).save(made, "PNG")
    return made.getvalue()


@pytest.fixture()
def hostile(tmp_path):
    """A tar with names that are HTML or no UTF-8, an image of 16 bits, pixels as an array, and what is not an image."""
    array = io.BytesIO()
    np.save(array, np.full((20, 40, 3), 7, np.uint8))
    samples = [("<script>alert(1)</script>.jpg", jpeg()), ("\"onload='x'&amp;.jpg", jpeg()), ("caf\udce9.jpg", jpeg()), ("x" * 90 + ".jpg", jpeg()),
               ("deep.png", deep_png()), ("cut.jpg", jpeg()[:40]), ("text.jpg", b"<b>no image</b>")]
    with tarfile.open(tmp_path / "x.tar", "w", encoding="utf-8", errors="surrogateescape") as tar:
        for name, content in samples:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return tmp_path / "x.tar"


def test_hostile_names_and_images(hostile):
    dataset = bl.Dataset(hostile)
    found = seen(dataset)  # which allows no tags but its own
    assert "<script>alert(1)</script>" in found.text and "\"onload='x'&amp;" in found.text
    assert "caf?" in found.text and "x" * 90 not in found.text and "x" * 57 + "..." in found.text
    assert len(found.sources) == 5
    assert abs(np.asarray(pixels_of(found.sources[4]), int) - 40000 // 256).max() < 3
    assert "text" in repr(dataset.show(7))


def test_without_pillow(hostile):
    printed = run_script("""
        import sys
        sys.modules["PIL"] = None
        import bale
        print(bale.Dataset(sys.argv[1])._repr_html_())
    """, hostile)
    found = _Seen(printed)
    assert len(found.sources) == 6 and "pip install pillow" in found.text  # the text file is none that browsers show
    assert pixels_of(found.sources[4]).format == "PNG"


def test_pixels_as_arrays(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "pixels", "-f", "hdf5", "--decode", "--size", "32")
    assert len(seen(bl.Dataset(tmp_path / "pixels")).sources) == 8


def test_no_samples_and_no_images(tmp_path):
    with bl.Writer(tmp_path / "texts") as writer:
        writer.add("a", {"txt": "hello"})
    found = seen(bl.Dataset(tmp_path / "texts"))
    assert not found.sources and "image" in found.text


def test_loader(pack):
    with bl.Loader(pack, 8, workers=0, transform=bl.transforms.val(32), tail="drop") as loader:
        found = seen(loader)
        assert "5 of 8 samples" in found.text and "CenterCrop((32, 32))" in found.text and not found.sources
        assert loader.counters["batches"] == 0  # it took none
        next(iter(loader))
        assert "batches" in seen(loader).text
    assert "bale.Loader" in seen(loader).text  # also after close()


def test_importing_bale_imports_nothing_for_this():
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", "import bale, sys; assert not {'PIL', 'numpy', 'html', 'base64', 'bale._dataset.pictures'} & "
                           "set(sys.modules)"], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


KERNEL = """
import json, sys
import nbformat
from nbclient import NotebookClient

pack, folder, out = sys.argv[1:]
cells = ["import bale, bale.torch; dataset = bale.Dataset(%r); dataset" % pack, "dataset.show(3)", "bale.torch.Dataset(%r)" % pack,
         "loader = bale.torch.Loader(dataset, 8, workers=0, transform=bale.transforms.val(32), rank=0, world_size=1); loader",
         "report = bale.pack(%r, %r)" % (folder, out)]
notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
json.dump([cell.outputs for cell in notebook.cells], sys.stdout)
"""


@pytest.mark.skipif(not os.environ.get("BALE_TEST_EXAMPLES_PYTHON"), reason="needs Jupyter: scripts/test.sh installs it")
def test_in_a_kernel(pack, photos, tmp_path):
    """The last value of a cell is HTML, and packing shows a bar of tqdm, which is text without ipywidgets."""
    printed = run_script(KERNEL, pack, photos, tmp_path / "out", python=os.environ["BALE_TEST_EXAMPLES_PYTHON"], HOME=str(tmp_path))
    *shown, packed = json.loads(printed)
    texts = [output["data"]["text/html"] for outputs in shown for output in outputs if "data" in output]
    assert [len(_Seen(text).sources) for text in texts] == [8, 3, 8, 0] and "bale.torch.Loader" in texts[3]
    assert "40/40" in "".join(output.get("text", "") for output in packed)


@pytest.mark.parametrize("label", [-1, -7, -(2 ** 63) + 1, 3, 2 ** 40])
def test_a_label_without_a_class_is_shown_as_a_number(bale, tiny, tmp_path, label):
    bale.pack(tiny, tmp_path / "packed", "-f", "npy", "--size", "8", "--name", "x")
    manifest = tmp_path / "packed" / "manifest.json"
    for path in (tmp_path / "packed").glob("*.bidx"):
        path.unlink()
    manifest.unlink()
    labels = next((tmp_path / "packed").glob("*labels*"))
    np.save(labels, np.full_like(np.load(labels), label))
    dataset = bl.Dataset(tmp_path / "packed")
    assert str(dataset.label(0)) in seen(dataset).text and str(dataset.label(0)) in repr(dataset.show(1))

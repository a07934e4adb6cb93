"""The Python of docs/FIELDS.md, WRITING.md, MIXTURES.md and SCALE.md runs as it stands, but for sizes, on data that was not chosen for it."""
import inspect
import re
import shutil

import pytest
from conftest import REPO
from torch_support import torch  # noqa: F401 - a fixture

bale = pytest.importorskip("bale")  # a build without Python has none

# What the pages take for granted: a dataset with all fields they name, and the functions of a training script.
BEFORE = '''
import io, os, sys, types, warnings
import numpy as np, torch
from PIL import Image
import bale, bale.torch as bt
T = bale.transforms
os.chdir(sys.argv[1])
seen = []

def encoded(kind, seed, mode="RGB", sides=(40, 31)):
    pixels = np.random.default_rng(seed).integers(0, 5, (sides[1], sides[0], 3)[:2 if mode == "L" else 3]).astype(np.uint8) * 50
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()

def samples():
    for i in range(11):
        fields = {"jpg": encoded("JPEG", i, sides=(40 + i, 31)), "txt": f"an image, {i}", "json": {"age": str(i), "height": 1.5 * i, "weight": i},
                  "npy": np.full(768, i, np.float32), "bin": bytes(i), "labels.npy": np.float32([i % 2, 1, 0]),
                  "mask.png": encoded("PNG", i, "L", (40 + i, 31)), "scan.bin": bytes(3), "title": "words",
                  "boxes.json": {"boxes": [[1, 2, 20, 30], [3, 3, 9, 9]][:i % 3], "labels": [4, 5][:i % 3]},
                  "points.json": {"keypoints": [[1, 2], [3, 4]]}}
        if i % 2:
            fields.pop("title"), fields.update({"title": "", "note.txt": "odd"})
        yield f"s{i}", fields, i % 2

with bale.Writer("packed", classes=["cat", "dog"]) as writer:
    for key, fields, label in samples():
        writer.add(key, fields, label=label)
net = lambda images: images.float().mean((1, 2, 3))
loss = lambda *given, **options: seen.append([type(one).__name__ for one in given])
'''
FIELDS = '''
train, cross_entropy, binary_cross_entropy_with_logits = loss, loss, loss
tokenizer = lambda texts: [len(text) for text in texts]
large = small = T.train(32)
import tarfile
with tarfile.open("hub.tar", "w") as tar:
    for i in range(3):
        for name, content in ((f"{i}.image.jpg", encoded("JPEG", i)), (f"{i}.label.cls", str(i).encode())):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
'''
COCO = '''
import json
os.mkdir("train2017")
open("train2017/1.jpg", "wb").write(encoded("JPEG", 1))
for name, values in (("instances", {"bbox": [1, 2, 3, 4], "category_id": 1}), ("captions", {"caption": "a fish"})):
    json.dump({"images": [{"id": 1, "file_name": "1.jpg"}], "categories": [{"id": 1, "name": "fish"}],
               "annotations": [{"id": 1, "image_id": 1, **values}]}, open(f"{name}_train2017.json", "w"))
'''
WRITING = '''
class Source(list):
    read, label = (lambda self, i: self[i][0]), (lambda self, i: self[i][1])
source = Source((encoded("JPEG", i), i % 2) for i in range(5))
save = seen.append
names, files = ["one", "two"], [__import__("pathlib").Path("photos/a/0.jpg")]
label_of = lambda file: 1
x_train, y_train = np.zeros((4, 8, 8, 3), np.uint8), np.int64([0, 1, 1, 0])
os.makedirs("photos/a")
Image.new("RGB", (20, 20)).save("photos/a/0.jpg")
import torchvision
'''


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", (REPO / "docs" / f"{page}.md").read_text(), re.S)


def small(code):
    return re.sub(r"batch_size=\d+", "batch_size=4, workers=0", code).replace("224", "32")


def test_fields(bale, torch, tmp_path):
    blocks = [small(block) for block in blocks_of("FIELDS")]
    assert len(blocks) == 9
    shown = "\nbatch = next(iter(loader)); seen.append(len(batch[0] if not isinstance(batch[0], list) else batch[0][0]))\n"
    made = f"\nloader = bt.Loader('packed', 4, workers=0, transform=T.train(32), fields=fields){shown}"
    # Mixed targets are of the loader before, with `mix`; of the annotated images no classes are asked.
    mixed = "loader = bt.Loader('packed', 4, workers=0, transform=T.train(32, dtype='float32'), mix=T.Mix(mixup=0.8), fields={'targets': bale.Field('labels.npy')})\n"
    after = {0: shown, 1: shown + "seen.append(dataset[0][1])\n", 2: shown, 3: made, 4: shown, 5: shown,
             6: "    seen.append(tuple(targets.shape))\n", 7: made.replace("'packed'", "'coco'"), 8: made}
    code = [FIELDS, *((COCO if i == 7 else mixed if i == 6 else "") + block + after[i] for i, block in enumerate(blocks))]
    out = torch(BEFORE + "\n".join(code) + "\nprint(len(seen))", tmp_path)
    assert int(out) > 15


def test_writing(bale, torch, tmp_path):
    blocks = blocks_of("WRITING")
    assert len(blocks) == 5
    lines = [line for line in blocks[2].splitlines() if "load_dataset" not in line and "hf://" not in line]  # test_python_parquet.py has these
    assert len(lines) == 3
    resumed = blocks[3].replace('"written"', '"resumed"')
    parts = "for rank in range(16):\n" + "".join(f"    {line}\n" for line in blocks[4].splitlines() if not line.startswith("bale.merge"))
    parts += [line for line in blocks[4].splitlines() if line.startswith("bale.merge")][0]
    parts = ("shard_of_the_source = lambda rank, parts: [(f'p{rank}', *source[rank % 5])]\n" + parts).replace("/shared/", "")
    parts = parts.replace('"written"', '"parts"')
    code = "\n".join([WRITING, *blocks[:2], *lines, resumed, parts])
    out = torch(BEFORE + code + "\nprint(*(len(bale.Dataset(name)) for name in "
                     "('written', 'digits', 'cifar10', 'photos-packed', 'generated', 'resumed', 'parts')))", tmp_path)
    assert out.splitlines()[-1] == "5 100 4 1 1 5 16"


def test_mixtures(bale, torch, tmp_path):
    blocks = [small(block).replace("10240", "1024") for block in blocks_of("MIXTURES")]
    assert len(blocks) == 2
    packs = "".join(f"with bale.Writer('packs/{name}') as writer:\n    [writer.add(f'{name}{{i}}', {{'jpg': encoded('JPEG', i)}}, label=i % 2) for i in range({size})]\n"
                    for name, size in (("web", 70), ("coco", 19)))
    blocks = [block.replace("seed=1,", "seed=1, workers=0,") for block in blocks]
    out = torch(f"{BEFORE}os.mkdir('packs')\n{packs}train = loss\n" + "\n".join(blocks), tmp_path)
    assert out.startswith("{'web': 30.7")  # 3 * 1024 * 0.7 / 70


def test_scale(bale, torch, photos, tmp_path):
    (code,) = [block for block in blocks_of("SCALE") if "pack_part" in block]
    code = code.replace("/shared/", "").replace('"imagenet/train"', repr(str(photos)))
    out = torch(f"import os\nos.chdir({str(tmp_path)!r})\n{code}\nprint(len(bale.Dataset('packed')))")
    assert out == "40\n"


def test_the_options_of_a_writer_are_all_listed():
    """docs/WRITING.md#options has those that it shares with `bale pack`; the others are explained before."""
    page = (REPO / "docs" / "WRITING.md").read_text()
    listed = set(re.findall(r"`(\w+)`", page.partition("\n## Options\n")[2].partition("\n## ")[0])) - {"fail", "skip"}
    explained = {"destination", "classes", "resume", "part", "parts", "memory_bytes", "jpeg_quality"}
    assert listed == set(inspect.signature(bale.Writer).parameters) - explained
    assert all(re.search(rf"\b{name}\b", page) for name in explained - {"destination"})


def test_the_table_of_states_has_all_entries(bale, torch, photos, tmp_path):
    """docs/EPOCHS.md names what the states of all loaders have, and nothing else."""
    table = (REPO / "docs" / "EPOCHS.md").read_text().partition("| entry | meaning |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    bale.pack(photos, tmp_path / "packed", "--format", "tar")
    for number in range(2):  # without an index
        shutil.copy(next((tmp_path / "packed").glob("*.tar")), tmp_path / f"{number}.tar")
    out = torch(f"packed, unindexed = {str(tmp_path / 'packed')!r}, {str(tmp_path / '*.tar')!r}" + """
import bale, bale.torch as bt, torch.utils.data
kept = dict(workers=0, seed=1, transform=bale.transforms.val(8))
stream = bt.IterableDataset(packed, seed=1)
loaders = [bale.Loader(packed, 8, shuffle="node-local", world_size=4, rank=0, order=bale.Order(ranks_per_node=2), **kept),
           bt.Loader({"a": packed, "b": packed}, 8, shares={"a": 1, "b": 2}, **kept), bt.Loader(packed, 8, **kept), stream,
           bale.Loader(unindexed, 8, shuffle=False, **kept)]
seen = set()
for loader in loaders:
    seen |= {*loader.state_dict()}
    iterator = iter(loader)
    next(iterator)
    loader.set_epoch(3)
    seen |= {*loader.state_dict()}
    for _ in range(2):
        for _ in loader:
            seen |= {*loader.state_dict()}
    seen |= {*loader.state_dict()}
class States(torch.utils.data.IterableDataset):
    def __iter__(self):
        return (list(stream.state_dict()) for _ in stream)
seen.update(*torch.utils.data.DataLoader(States(), None, num_workers=2))
print(*seen)
""")
    assert {*out.split()} == named

"""Samples with a caption, metadata, an embedding and bytes next to the image, and what a Loader has to deliver of them."""
import io
import json
import random

import numpy as np
from PIL import Image

FIELDS = {"caption": "txt", "meta": "json", "embedding": "npy", "raw": "bin"}
SIZE = 40


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def jpeg(seed, size=(24, 18)):
    file = io.BytesIO()
    pixels = random.Random(seed).randbytes(size[0] * size[1] * 3)
    Image.frombytes("RGB", size, pixels).save(file, "JPEG")
    return file.getvalue()


def embedding(i):
    return np.arange(6, dtype="float32").reshape(2, 3) * i - 1


def caption(i):
    return f"Bild {i}: " + "über " * (i * 7 % 11)


def sample(i):
    """{extension: bytes} of sample number i."""
    return {"jpg": jpeg(i), "txt": caption(i).encode(), "json": json.dumps({"i": i, "tags": ["a"] * (i % 4)}).encode(),
            "npy": npy(embedding(i)), "bin": random.Random(i).randbytes(i * 37 % 500)}


def continues(load, spec, content, **options):
    """A Loader that takes over another's state after three batches delivers the rest."""
    with load(spec, **options) as whole, load(spec, **options) as first, load(spec, **options) as second:
        expected = [content(batch) for batch in whole]
        iterator = iter(first)
        begun = [content(next(iterator)) for _ in range(3)]
        second.load_state_dict(first.state_dict())
        return begun + [content(batch) for batch in second] == expected


def write_folder(root, samples, changed=None):
    """A folder of class folders with `samples` samples, of which `changed` {number: {extension: bytes or None}} are other
    than sample() makes them."""
    for i in range(samples):
        folder = root / f"class{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        for extension, content in {**sample(i), **(changed or {}).get(i, {})}.items():
            if content is not None:
                (folder / f"s{i:03}.{extension}").write_bytes(content)
    return root


PAIR = ["--pair", "jpg,txt,json,npy,bin", "--shard-samples", "7", "--name", "p"]


def number_of(key):
    return int(key.rpartition("s")[2])


def check(batch):
    """Every row has the fields of its sample."""
    numbers = [number_of(key) for key in batch.keys]
    fields = batch.fields
    assert fields["caption"] == [caption(i) for i in numbers]
    assert list(fields["meta"]) == [json.loads(sample(i)["json"]) for i in numbers]
    assert np.array_equal(fields["embedding"], np.stack([embedding(i) for i in numbers]))
    assert fields["embedding"].dtype == np.float32
    assert [bytes(row) for row in fields["raw"]] == [sample(i)["bin"] for i in numbers]
    assert all(fields.present(name).all() for name in fields)
    return numbers


def content(batch):
    """All fields of a batch as plain values, to compare."""
    return (batch.keys, batch.images.tobytes(), batch.fields["caption"], batch.fields["meta"].bytes,
            batch.fields["embedding"].tobytes(), bytes(batch.fields["raw"].data), batch.fields["raw"].offsets.tolist())

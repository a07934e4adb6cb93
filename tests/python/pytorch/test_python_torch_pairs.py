"""bale.torch.Dataset with fields of its user's choice: image and mask, image and JSON; joint transforms; what is wrong."""
import io
import json
import tarfile

import numpy as np
import pytest
from conftest import write_tar
from image_support import encoded, png
from PIL import Image
from python_support import PACKAGE
from torch_support import torch  # noqa: F401 - a fixture

HEAD = """
    import io, json, os, pickle, sys
    import numpy as np
    import torch
    from PIL import Image
    import bale
    import bale.torch as bt

    PACK = sys.argv[1]
    stored = bale.Dataset(PACK)
"""


def drawn(pixels, mode=None):
    image = Image.fromarray(pixels)
    if mode == "P":
        image = image.convert("L")
        image.putpalette([value % 256 for value in range(3, 771)])
    return png(image)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """Shards as a WebDataset user has them. Every pixel of a photo is its class number times 20, gray; number 3 is a
    JPEG, 7 has no mask, and the JSON of 9 is broken."""
    root = tmp_path_factory.mktemp("scenes")
    rng = np.random.default_rng(1)
    members = []
    for i in range(12):
        classes = rng.integers(0, 12, (40, 56), dtype=np.uint8)
        photo = np.repeat(classes[:, :, None] * np.uint8(20), 3, axis=2)
        fields = {"cls": b"%d" % (i % 3), "png": drawn(photo), "mask.png": drawn(classes, "P"),
                  "depth.png": drawn(classes.astype(np.uint16) * 5000), "txt": f"scene {i}\u00e9".encode(),
                  "json": json.dumps({"id": i, "boxes": [[0, 1, 2, 3]] * (i % 2)}).encode()}
        weights = io.BytesIO()
        np.save(weights, classes[:2, :2].astype(np.float32))
        fields["npy"] = weights.getvalue()
        if i == 3:
            del fields["png"]
            fields["jpg"] = encoded(Image.fromarray(photo[:, :, 0]), "JPEG")
        if i == 7:
            del fields["mask.png"]
        if i == 9:
            fields["json"] = b'{"id": 9,'
        members += [(f"scene{i:02}.{name}", value) for name, value in sorted(fields.items())]
    return write_tar(root / "scenes.tar", members, format=tarfile.USTAR_FORMAT)


@pytest.fixture(scope="module", params=["as it is", "packed"])
def run(request, bale, scenes, torch):
    pack = scenes
    if request.param == "packed":
        pack = scenes.parent / "packed"
        bale.ok("convert", scenes, pack)
    return lambda script: torch(HEAD + script, pack)


def test_fields_become_what_they_are(run):
    run("""
    dataset = bt.Dataset(PACK, fields=("png;jpg", "mask.png"))
    photo, mask = dataset[0]
    assert photo.mode == "RGB" and mask.mode == "P" and photo.size == mask.size == (56, 40)
    assert np.array_equal(np.asarray(photo)[:, :, 0], np.asarray(mask) * 20)
    assert dataset[3][0].mode == "RGB" and dataset[3][0].size == (56, 40)   # a JPEG, and gray

    photo, mask = bt.Dataset(PACK, fields=("png", "mask.png"), decode="tensor")[0]
    assert photo.dtype == mask.dtype == torch.uint8 and photo.shape == (3, 40, 56) and mask.shape == (1, 40, 56)
    assert torch.equal(photo, (mask * 20).expand(3, -1, -1)) and photo.is_contiguous()
    photo, depth = bt.Dataset(PACK, fields=("png", "depth.png"), decode="tensor")[0]
    assert depth.dtype == torch.int32 and torch.equal(depth, mask.to(torch.int32) * 5000)

    photo, said = bt.Dataset(PACK, fields=("png", "json"))[1]
    assert said == {"id": 1, "boxes": [[0, 1, 2, 3]]}
    photo, targets = bt.Dataset(PACK, fields=("png", "cls", "txt", "npy", "json"))[5]
    assert targets[0] == 2 and targets[1] == "scene 5\\u00e9" and targets[3]["id"] == 5
    assert isinstance(targets[2], np.ndarray) and targets[2].dtype == np.float32
    assert torch.is_tensor(bt.Dataset(PACK, fields=("png", "npy"), decode="tensor")[5][1])
    photo, mask = bt.Dataset(PACK, fields=("png", "mask.png"), decode="bytes")[5]
    assert photo == stored.read_field(5, "png") and mask == stored.read_field(5, "mask.png")

    image, label = bt.Dataset(PACK)[4]
    assert image.mode == "RGB" and label == 1 and bt.Dataset(PACK, field="mask.png")[4][0].mode == "RGB"
    assert bt.Dataset(stored)[4][1] == 1                                   # one that is open already
    """)


def test_transforms(run):
    run("""
    double = bt.Dataset(PACK, transform=lambda image: image.size, target_transform=lambda said: said["id"] * 2,
                        fields=("png", "json"))
    assert double[4] == ((56, 40), 8)
    both = bt.Dataset(PACK, fields=("png", "mask.png", "cls"), transforms=lambda image, target: (target[1], image.size))
    assert both[4] == (1, (56, 40))
    raises(ValueError, "transforms", lambda: bt.Dataset(PACK, len, transforms=both.transforms))
    """)


def test_what_is_wrong_is_said(run):
    run("""
    raises(ValueError, "no sample has 'masks.png'; there are cls, depth.png, jpg,", lambda: bt.Dataset(PACK, fields=("png", "masks.png")))
    raises(ValueError, "at least two", lambda: bt.Dataset(PACK, fields=("png",)))
    raises(ValueError, "at least two", lambda: bt.Dataset(PACK, fields="png"))
    raises(ValueError, "field and fields", lambda: bt.Dataset(PACK, fields=("png", "cls"), field="png"))
    raises(ValueError, "decode", lambda: bt.Dataset(PACK, decode="jpeg"))
    error = raises(KeyError, "mask.png", lambda: bt.Dataset(PACK, fields=("png", "mask.png"))[7])
    assert isinstance(error, bale.Error) and error.key == "scene07"
    raises(KeyError, "png", lambda: bt.Dataset(PACK, fields=("png", "cls"))[3])
    error = raises(bale.Error, "sample 'scene09': its json cannot be decoded", lambda: bt.Dataset(PACK, fields=("png", "json"))[9])
    assert error.code == "damaged" and error.key == "scene09" and pickle.loads(pickle.dumps(error)).key == "scene09"
    raises(bale.Error, "sample 'scene02': its txt cannot be decoded: Pillow knows no such image", lambda: bt.Dataset(PACK, field="txt")[2])
    raises(IndexError, "12", lambda: bt.Dataset(PACK)[12])
    """)


JOINT = """
import numpy as np
import torch
from torchvision.transforms import RandomCrop, functional

def crop(image, mask):
    place = RandomCrop.get_params(image, (16, 16))
    image, mask = (functional.crop(one, *place) for one in (image, mask))
    return functional.pil_to_tensor(image), torch.from_numpy(np.array(mask)).long()
"""


def test_in_a_dataloader(scenes, tmp_path, torch):
    """Crops of image and mask stay together."""
    (tmp_path / "joint.py").write_text(JOINT)
    torch(HEAD + """
    import joint
    dataset = bt.Dataset(PACK, fields=("png", "mask.png"), transforms=joint.crop)
    assert pickle.loads(pickle.dumps(dataset))[0][1].shape == (16, 16)
    dataset = torch.utils.data.Subset(dataset, [i for i in range(12) if i not in (3, 7)])
    seen = 0
    for images, masks in torch.utils.data.DataLoader(dataset, 5, num_workers=2):
        assert images.shape == (5, 3, 16, 16) and masks.shape == (5, 16, 16)
        assert torch.equal(images[:, 0].long(), masks * 20)
        seen += len(images)
    assert seen == 10
    """, scenes, PYTHONPATH=f"{PACKAGE}:{tmp_path}")

"""Lists of transforms in a Loader: the pixels are those that Pillow and torchvision make of the recorded steps."""
import pytest
from torch_support import Torch

HEAD = """
import io, sys
import numpy as np
import PIL, torch
from PIL import Image
from torchvision import transforms as V
import bale
import bale.torch as bt
from bale import transforms as T
PACK = sys.argv[1]
PILLOW = "13" if int(PIL.__version__.split(".")[0]) >= 13 else "12"
with bale.Loader(PACK, 64, workers=0, shuffle=False, tail="uneven", transform=T.raw()) as loader:
    SOURCES = [Image.open(io.BytesIO(bytes(row))).convert("RGB") for batch in loader for row in batch.images if len(row)]

def check(transform, most=0):
    made = T.translate(transform, pillow=PILLOW)
    with bale.Loader(PACK, 16, workers=0, seed=3, shuffle=False, tail="drop", transform=made) as loader:
        for batch in loader:
            for i, sample in enumerate(batch.samples):
                found = T.replay(batch.draw(i)["steps"], SOURCES[int(sample)])
                image, erase = found if isinstance(found, tuple) else (found, None)
                expected = np.asarray(image)
                if made.dtype != "uint8":
                    tensor = torch.from_numpy(expected.copy()).permute(2, 0, 1).float() / 255
                    if made.normalize:
                        tensor = V.functional.normalize(tensor, *made.normalize)
                    expected = (erase(tensor) if erase else tensor).permute(1, 2, 0).numpy()
                    assert np.abs(batch.images[i] - expected).max() <= 2e-6
                else:
                    differing = np.abs(batch.images[i].astype(int) - expected).max()
                    assert differing <= most, (transform, i, differing, batch.draw(i))
"""


@pytest.fixture(scope="module")
def run(pack):
    server = Torch("torchvision.transforms")
    yield lambda script: server(HEAD + script, pack)
    server.close()


def test_lists(run):
    run("""
CROP = V.RandomResizedCrop(32)
for one in [V.RandomHorizontalFlip(), V.RandomVerticalFlip(), V.ColorJitter(0.4, 0.4, 0.4), V.RandomGrayscale(0.5), V.RandomSolarize(128),
            V.RandomPosterize(3), V.RandomEqualize(), V.RandomAutocontrast(), V.RandomInvert(), V.RandomAdjustSharpness(2),
            V.RandomRotation(30), V.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10), V.RandomPerspective(), V.Pad(3, (1, 2, 3)),
            V.AutoAugment(), V.RandAugment(), V.TrivialAugmentWide(), V.RandomCrop(24, 4)]:
    check(V.Compose([CROP, one]))
check(V.Compose([CROP, V.ColorJitter(hue=0.1)]))
check(V.Compose([V.Resize((32, 40), V.InterpolationMode.NEAREST), V.RandomCrop(32)]))
check(V.Compose([CROP, V.GaussianBlur(5)]), 1)
check(V.Compose([CROP, V.AugMix()]))
check(V.Compose([V.Resize(40), V.CenterCrop(32), V.ToTensor(), V.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), V.RandomErasing(1)]))
""")


def test_torchs_loader(run):
    run("""
transform = V.Compose([V.RandomResizedCrop(32), V.RandomHorizontalFlip(), V.TrivialAugmentWide(), V.ToTensor(),
                       V.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), V.RandomErasing(0.5)])
with bt.Loader(PACK, 8, workers=2, seed=1, transform=transform) as one, bt.Loader(PACK, 8, workers=0, seed=1,
                                                                                  transform=T.translate(transform)) as other:
    for (images, labels), (others, _) in zip(one, other):
        assert images.shape == (8, 3, 32, 32) and images.dtype == torch.float32 and torch.equal(images, others)
        assert images.is_contiguous(memory_format=torch.channels_last)
""")

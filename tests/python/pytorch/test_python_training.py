"""The same network trained from a folder by torchvision and from a pack by bale: the parameters that the loader recorded,
replayed on PIL images, give the same input bit for bit, hence the same losses."""
import pytest
from torch_support import torch  # noqa: F401 - a fixture

PACK_OPTIONS = ["--shard-samples", "15"]
SCRIPT = """
    import os, sys
    import PIL, torch, torchvision
    from torchvision.transforms import functional as F
    import bale
    import bale.torch as bt

    pack, root, dtype, layout = sys.argv[1:]
    SIZE, EPOCHS = 32, 5
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    floats = {"dtype": dtype, "layout": layout, "normalize": dtype != "uint8",
              "pillow": min(13, max(12, int(PIL.__version__.split(".")[0])))}
    mean, std = bale.transforms.IMAGENET_MEAN, bale.transforms.IMAGENET_STD
    folder = torchvision.datasets.ImageFolder(root)
    in_folder = {os.path.splitext(os.path.relpath(path, root))[0]: i for i, (path, _) in enumerate(folder.samples)}

    def tensor(image):
        return F.pil_to_tensor(image) if dtype == "uint8" else F.normalize(F.to_tensor(image), mean, std)

    def stacked(images, labels):
        images = torch.stack([tensor(image) for image in images])
        images = images.contiguous(memory_format=torch.channels_last if layout == "nhwc" else torch.contiguous_format)
        return images, torch.tensor(labels)

    def replayed(image, draw):
        assert image.size == draw["source"]
        x, y, width, height = draw["crop"]
        image = F.resized_crop(image, y, x, height, width, [SIZE, SIZE])
        image = F.hflip(image) if draw["flip"] else image
        for name, factor in draw["jitter"]:
            image = getattr(F, "adjust_" + name)(image, factor)
        return F.rgb_to_grayscale(image, 3) if draw["gray"] else image

    def losses(batches):
        torch.manual_seed(3)
        model = torchvision.models.resnet18(num_classes=5)
        optimizer = torch.optim.SGD(model.parameters(), 0.003, momentum=0.9)
        found = []
        for images, labels in batches:
            if dtype == "uint8":
                images = F.normalize(images / 255, mean, std)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    def epochs(loader):
        for epoch in range(EPOCHS):
            loader.set_epoch(epoch)
            yield from loader

    jittered = bale.transforms.train(SIZE, jitter=(0.4, 0.4, 0.4, 0.1), gray=0.2, **floats)
    options = {"workers": 2, "seed": 7, "drop_last": True, "transform": jittered}
    with bale.Loader(pack, 20, **options) as loader, bt.Loader(pack, 20, **options) as ours:
        keys = loader.dataset.keys
        reference = []
        for batch in epochs(loader):
            files = [folder[in_folder[keys[sample]]] for sample in batch.samples.tolist()]
            draws = [batch.draw(i) for i in range(len(batch))]
            reference.append(stacked([replayed(image, draw) for (image, _), draw in zip(files, draws)],
                                     [label for _, label in files]))
        for (images, labels), (expected, expected_labels) in zip(epochs(ours), reference):
            assert images.dtype == expected.dtype and images.stride() == expected.stride()
            assert torch.equal(images, expected) and torch.equal(labels, expected_labels)
        from_pack, from_folder = losses(epochs(ours)), losses(reference)
    assert from_pack == from_folder and len(from_pack) == 2 * EPOCHS, (from_pack, from_folder)
    assert sum(from_pack[-2:]) < 0.9 * sum(from_pack[:2]), from_pack

    evaluation = torchvision.transforms.Compose([torchvision.transforms.Resize(36), torchvision.transforms.CenterCrop(SIZE)])
    with bt.Loader(pack, 8, workers=2, shuffle=False,
                   transform=bale.transforms.val(SIZE, resize=36, **floats)) as loader:
        order = [in_folder[key] for key in keys]
        images, labels = map(torch.cat, zip(*((images.clone(), labels.clone()) for images, labels in loader)))
    expected = stacked(*zip(*((evaluation(folder[i][0]), folder[i][1]) for i in order)))
    assert torch.equal(images, expected[0]) and torch.equal(labels, expected[1])
"""


@pytest.mark.parametrize("dtype,layout", [("float32", "nchw"), ("float32", "nhwc"), ("uint8", "nhwc")])
def test_inputs_and_losses_are_torchvisions(torch, pack, photos, dtype, layout):
    torch(SCRIPT, pack, photos, dtype, layout)

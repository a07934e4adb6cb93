"""A network trained by torchvision's reference recipe V2: bale's list, and Pillow and torchvision with the steps that the
loader recorded, give the same input bit for bit, hence the same losses."""
import pytest
from conftest import by_tier, make_images
from python_support import SYSTEM_PYTHON, run_script

EPOCHS = 5
SCRIPT = """
    import os, sys
    import PIL, torch, torchvision
    from torchvision.transforms import functional as F
    import bale
    import bale.torch as bt
    from bale import transforms as T

    pack, root, size, batch_size, epochs, layout = sys.argv[1:4] + [int(sys.argv[4]), int(sys.argv[5]), sys.argv[6]]
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder = torchvision.datasets.ImageFolder(root)
    in_folder = {os.path.splitext(os.path.relpath(path, root))[0]: i for i, (path, _) in enumerate(folder.samples)}
    kinds = set()

    def replayed(image, draw):
        kinds.update(step["name"] for step in draw["steps"])
        image, *erase = made if isinstance(made := T.replay(draw["steps"], image), tuple) else (made,)
        tensor = F.normalize(F.to_tensor(image), T.IMAGENET_MEAN, T.IMAGENET_STD)
        return erase[0](tensor) if erase else tensor

    def losses(batches):
        torch.manual_seed(3)
        model = torchvision.models.resnet18(num_classes=len(folder.classes))
        optimizer = torch.optim.SGD(model.parameters(), 0.003, momentum=0.9)
        found = []
        for images, labels in batches:
            loss = torch.nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    def of_all_epochs(loader):
        return (batch for _ in range(epochs) for batch in loader)

    recipe = T.presets.reference_v2_train(int(size), random_erase=0.3, layout=layout)
    recipe = T.Compose(recipe.transforms, layout, pillow=min(13, max(12, int(PIL.__version__.split(".")[0]))))
    options = {"workers": 2, "seed": 7, "drop_last": True, "transform": recipe}
    with bale.Loader(pack, batch_size, **options) as loader, bt.Loader(pack, batch_size, **options) as ours:
        keys = loader.dataset.keys
        reference = []
        for batch in of_all_epochs(loader):
            files = [folder[in_folder[keys[sample]]] for sample in batch.samples.tolist()]
            images = torch.stack([replayed(image, batch.draw(i)) for i, (image, _) in enumerate(files)])
            images = images.contiguous(memory_format=torch.channels_last if layout == "nhwc" else torch.contiguous_format)
            reference.append((images, torch.tensor([label for _, label in files])))
        for (images, labels), (expected, expected_labels) in zip(of_all_epochs(ours), reference):
            assert images.dtype == torch.float32 and images.stride() == expected.stride()
            assert torch.equal(images, expected) and torch.equal(labels, expected_labels)
        ours.set_epoch(0)
        from_pack, from_replay = losses(of_all_epochs(ours)), losses(reference)
    assert from_pack == from_replay and len(from_pack) == len(reference) == len(ours) * epochs, (from_pack, from_replay)
    last = len(from_pack) // 5
    assert sum(from_pack[-last:]) < sum(from_pack[:last]), from_pack
    print(len(from_pack), *sorted(kinds))
"""


@pytest.fixture(scope="module")
def larger_photos(tmp_path_factory):
    """Photos of ImageNet's sizes."""
    root = tmp_path_factory.mktemp("larger")
    make_images.make_tree(root, classes=5, per_class=20, size=(500, 375), odd=True)
    return root


@pytest.mark.parametrize("layout", by_tier(["nhwc"], ["nchw", "nhwc"]))
def test_inputs_and_losses_are_those_of_the_replayed_steps(bale, request, layout, tmp_path):
    """Long tier: 100 photos of about 500 x 375 pixels at 128."""
    photos = request.getfixturevalue(by_tier("photos", "larger_photos"))
    size, batch_size, epochs = by_tier((32, 20, EPOCHS), (128, 20, 2 * EPOCHS))
    bale.pack(photos, tmp_path / "pack", "--shard-samples", "15")
    out = run_script(SCRIPT, tmp_path / "pack", photos, size, batch_size, epochs, layout, python=SYSTEM_PYTHON,
                     OMP_NUM_THREADS="1", timeout=600)
    steps, *kinds = out.split()
    assert int(steps) == epochs * by_tier(2, 5)
    assert {"Crop", "Resize", "HorizontalFlip", "Erase"} < set(kinds) and len(kinds) > by_tier(10, 14)

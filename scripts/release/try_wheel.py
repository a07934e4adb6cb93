#!/usr/bin/env python3
"""What a user does after `pip install bale`: packs a folder, loads batches and, if PyTorch is installed, trains a ResNet-18.

usage: try_wheel.py IMAGES FOLDER     CLASS/IMAGE files, and a folder for the packed dataset
"""
import os
import sys
import time

begin = time.monotonic()
import bale  # noqa: E402

images, packed = sys.argv[1], os.path.join(sys.argv[2], "packed")
print(f"bale {bale.__version__} from {os.path.dirname(bale.__file__)}, Python {sys.version.split()[0]}, "
      f"glibc {os.confstr('CS_GNU_LIBC_VERSION').split()[-1]}")
report = bale.pack(images, packed, progress=False)
assert bale.verify(packed, progress=False)["findings"] == []
for format in ("lmdb", "hdf5", "tfrecord", "recordio"):  # each has its library inside
    bale.convert(packed, f"{packed}-{format}", format=format, progress=False)
    assert bale.verify(f"{packed}-{format}", progress=False)["findings"] == []

seen = 0
with bale.Loader(packed, batch_size=16, workers=2, transform=bale.transforms.train(64), seed=1) as loader:
    for pixels, labels in loader:
        if seen == 0:
            print(f"first batch: {pixels.shape} {pixels.dtype}, {time.monotonic() - begin:.2f} s after `import bale`")
        seen += len(labels)
assert seen == report["samples"] > 0, (seen, report["samples"])
print(f"{seen} images loaded")

try:
    import torch
    import torchvision
except ImportError as error:
    print(f"no training: {error}")
    sys.exit()
import bale.torch as bt  # noqa: E402

torch.manual_seed(0)
model = torchvision.models.resnet18(num_classes=len(bale.Dataset(packed).classes))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
batches = bt.Loader(packed, batch_size=16, workers=2, transform=bale.transforms.train(64, dtype="float32"), seed=1)
losses = []
for epoch in range(3):
    for pixels, labels in batches:
        loss = torch.nn.functional.cross_entropy(model(pixels), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert all(loss == loss for loss in losses)
first, last = (sum(part) / len(part) for part in (losses[:len(batches)], losses[-len(batches):]))
print(f"ResNet-18, torch {torch.__version__}: {len(losses)} steps, mean loss of an epoch {first:.2f} -> {last:.2f}")

"""Rare classes as often as frequent ones, with a WeightedRandomSampler."""
from collections import Counter

import torch
from common import TRAIN, arguments, bale_transforms, make_network, report
from torch.nn import functional as F
from torch.utils.data import DataLoader, WeightedRandomSampler
from torchvision.datasets import ImageFolder

args = arguments()
targets = ImageFolder(args.folder).targets
counts = Counter(targets)
weights = torch.DoubleTensor([1 / counts[target] for target in targets])
sampler = WeightedRandomSampler(weights, num_samples=400, replacement=True)
if args.bale:
    import bale.torch as bt
    loader = bt.Loader(args.pack, batch_size=16, sampler=sampler, num_workers=1, transform=bale_transforms()[0])
else:
    loader = DataLoader(ImageFolder(args.folder, TRAIN), batch_size=16, sampler=sampler, num_workers=1)

model = make_network(len(loader.dataset.classes))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
drawn, rows = Counter(), 0
for images, labels in loader:
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    drawn.update(labels.tolist())
    rows += len(images)
average = rows / len(counts)
report(batches=len(loader), rows=rows, draws=len(loader.sampler), of=len(loader.dataset), classes=sorted(drawn),
       balanced=all(abs(count - average) < 0.4 * average for count in drawn.values()))

"""Trains with a moving average of the weights, and a validation that keeps the tensors of every batch."""
import copy

import torch
from common import EVAL, TRAIN, arguments, bale_transforms, make_network, report
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

args = arguments(("epochs", 2))
if args.bale:
    import bale.torch as bt
    train_transform, eval_transform = bale_transforms()
    train_loader = bt.Loader(args.pack, batch_size=8, shuffle=True, num_workers=1, drop_last=True, transform=train_transform)
    val_loader = bt.Loader(args.pack, batch_size=8, shuffle=False, num_workers=1, transform=eval_transform)
else:
    train_loader = DataLoader(ImageFolder(args.folder, TRAIN), batch_size=8, shuffle=True, num_workers=1, drop_last=True)
    val_loader = DataLoader(ImageFolder(args.folder, EVAL), batch_size=8, shuffle=False, num_workers=1)


@torch.no_grad()
def validate(model):
    model.eval()
    all_images, all_targets, all_outputs = [], [], []
    for images, targets in val_loader:
        all_images.append(images)
        all_targets.append(targets)
        all_outputs.append(model(images))
    outputs, targets = torch.cat(all_outputs), torch.cat(all_targets)
    accuracy = (outputs.argmax(1) == targets).sum().item() / len(val_loader.dataset)
    return {"loss": F.cross_entropy(outputs, targets).item(), "accuracy": accuracy, "targets": targets.tolist(),
            "mean": torch.cat(all_images).mean().item()}


model = make_network(len(train_loader.dataset.classes))
ema = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
before = validate(model)
losses, steps = [], 0
for epoch in range(args.epochs):
    model.train()
    for images, targets in train_loader:
        loss = F.cross_entropy(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        steps += 1
        with torch.no_grad():
            for averaged, weight in zip(ema.parameters(), model.parameters()):
                averaged.lerp_(weight, 0.1)
after = validate(ema)
report(before=before, steps=steps, finite=bool(torch.isfinite(torch.stack(losses)).all()), targets_after=after["targets"])

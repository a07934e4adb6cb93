"""Trains a ResNet from packed datasets: torchvision_before.py by bale; `diff` shows the lines.

    python torchvision_after.py packs/train packs/val
"""
import argparse

import torch
import torchvision
from torch.nn import functional as F

import bale
import bale.torch as bt

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("train")
parser.add_argument("val")
parser.add_argument("--model", default="resnet50")
parser.add_argument("--epochs", type=int, default=90)
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--size", type=int, default=224)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--workers", type=int, default=8)
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

floats = {"dtype": "float32", "layout": "nchw", "normalize": True}
dataset = bale.Dataset(args.train)
train = bt.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, pin_memory=True, drop_last=True,
                  transform=bale.transforms.train(args.size, **floats))
val = bt.Loader(args.val, args.batch_size, workers=args.workers, shuffle=False, tail="uneven", pin_memory=True,
                transform=bale.transforms.val(args.size, **floats))

model = torchvision.models.get_model(args.model, num_classes=len(train.dataset.classes)).to(device)
optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))

for epoch in range(args.epochs):
    model.train()
    total = 0
    for images, labels in train:
        loss = F.cross_entropy(model(images.to(device, non_blocking=True)), labels.to(device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in val:
            correct += (model(images.to(device, non_blocking=True)).argmax(1).cpu() == labels).sum().item()
    print(f"epoch {epoch} loss {total / len(train):.4f} accuracy {correct}/{len(val.dataset)}", flush=True)

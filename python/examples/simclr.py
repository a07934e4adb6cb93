"""Trains a ResNet by SimCLR: each image is decoded once and becomes two views, which must find each other in the batch.

    python simclr.py packs/train
"""
import argparse

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

import bale
import bale.torch as bt
from bale import transforms as T

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("train", help="packed images; their labels are not used")
parser.add_argument("--model", default="resnet50", help="of torchvision (resnet50)")
parser.add_argument("--epochs", type=int, default=100)
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--size", type=int, default=224, help="side of the views in pixels (224)")
parser.add_argument("--lr", type=float, default=0.075)
parser.add_argument("--temperature", type=float, default=0.1)
parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Crop, flip, jitter, gray and blur, as in the paper. Bytes travel to the device and become floats there.
dataset = bale.Dataset(args.train)
loader = bt.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                   views=T.presets.simclr(args.size, dtype="uint8"))
loader = bt.Prefetcher(loader, device, dtype=torch.float32)

encoder = torchvision.models.get_model(args.model)
features = encoder.fc.in_features
encoder.fc = nn.Sequential(nn.Linear(features, features), nn.ReLU(), nn.Linear(features, 128))  # the projection
encoder = encoder.to(device, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(encoder.parameters(), args.lr, momentum=0.9, weight_decay=1e-6)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))


def contrast(first, second):
    """NT-Xent: among all other views of the batch, each has to pick that of its own image."""
    views = F.normalize(torch.cat([first, second]))
    similar = views @ views.T / args.temperature
    similar.fill_diagonal_(-torch.inf)
    partners = torch.arange(len(views), device=views.device).roll(len(first))
    return F.cross_entropy(similar, partners)


for epoch in range(args.epochs):
    total = 0
    for (first, second), _ in loader:
        loss = contrast(*encoder(torch.cat([first, second])).chunk(2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}", flush=True)
torch.save(encoder.state_dict(), "simclr.pt")

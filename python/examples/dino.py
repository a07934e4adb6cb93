"""Trains a network by DINO: two global and some local views of each image; a student learns what its teacher says.

    python dino.py packs/train
"""
import argparse
import copy

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
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--size", type=int, default=224, help="side of the global views in pixels (224)")
parser.add_argument("--local-size", type=int, default=96, help="side of the local views in pixels (96)")
parser.add_argument("--local-crops", type=int, default=8)
parser.add_argument("--prototypes", type=int, default=4096)
parser.add_argument("--lr", type=float, default=5e-4)
parser.add_argument("--momentum", type=float, default=0.996, help="of the teacher, at the beginning (0.996)")
parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Each image is decoded once, and all views are made of it. A batch has a list of them, the global ones first.
# Halves travel to the device and become floats there.
views = T.presets.dino(args.size, args.local_size, local_crops=args.local_crops, dtype="float16")
dataset = bale.Dataset(args.train)
loader = bt.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                   views=views)
loader = bt.Prefetcher(loader, device, dtype=torch.float32)

student = torchvision.models.get_model(args.model)
features = student.fc.in_features
student.fc = nn.Sequential(nn.Linear(features, 256), nn.GELU(), nn.Linear(256, args.prototypes, bias=False))
student = student.to(device, memory_format=torch.channels_last)
teacher = copy.deepcopy(student).requires_grad_(False)
center = torch.zeros(args.prototypes, device=device)
optimizer = torch.optim.AdamW(student.parameters(), args.lr, weight_decay=0.04)
steps = args.epochs * len(loader)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

for epoch in range(args.epochs):
    total = 0
    for views, _ in loader:
        with torch.no_grad():
            said = [teacher(view) for view in views[:2]]
            targets = [F.softmax((output - center) / 0.04, dim=1) for output in said]
            center.lerp_(torch.cat(said).mean(0), 0.1)
        # One pass for the global and one for the local views: images of one size go through together.
        outputs = [*student(torch.cat(views[:2])).chunk(2), *student(torch.cat(views[2:])).chunk(args.local_crops)]
        logs = [F.log_softmax(output / 0.1, dim=1) for output in outputs]
        losses = [-(target * log).sum(1).mean() for i, target in enumerate(targets) for j, log in enumerate(logs) if i != j]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        share = (1 - args.momentum) * optimizer.param_groups[0]["lr"] / args.lr  # falls along the same cosine
        schedule.step()
        with torch.no_grad():
            for kept, learned in zip(teacher.parameters(), student.parameters()):
                kept.lerp_(learned, share)
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}", flush=True)
torch.save(teacher.state_dict(), "dino.pt")

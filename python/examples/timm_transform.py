"""Trains a timm model on what timm's create_transform returns; bale's workers run it.

    python timm_transform.py packs/train packs/val --model resnet50 --auto-augment rand-m7-mstd0.5-inc1
"""
import argparse

import timm
import torch
from timm.data import create_transform, resolve_model_data_config
from timm.loss import LabelSmoothingCrossEntropy

import bale
import bale.torch as bt

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("train", help="packed training images")
parser.add_argument("val", help="packed validation images")
parser.add_argument("--model", default="resnet50", help="of timm (resnet50)")
parser.add_argument("--epochs", type=int, default=300)
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--size", type=int, help="side of the images in pixels (the model's own)")
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--auto-augment", default="rand-m9-mstd0.5-inc1", help="a string of timm's (rand-m9-mstd0.5-inc1)")
parser.add_argument("--re-prob", type=float, default=0.25, help="how often a rectangle becomes noise (0.25)")
parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

num_classes = len(bale.Dataset(args.train).classes)
model = timm.create_model(args.model, num_classes=num_classes).to(device, memory_format=torch.channels_last)
config = resolve_model_data_config(model)
config["input_size"] = (3, args.size, args.size) if args.size else config["input_size"]

# bale translates them: the same operations, and its own random numbers. T.translate(transform) shows the list.
augment = create_transform(**config, is_training=True, auto_augment=args.auto_augment, re_prob=args.re_prob, re_mode="pixel")
dataset = bale.Dataset(args.train)
train = bt.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                  transform=augment)
val = bt.Loader(args.val, args.batch_size, workers=args.workers, shuffle=False, tail="uneven", pin_memory=True,
                transform=create_transform(**config))
train, val = bt.Prefetcher(train, device), bt.Prefetcher(val, device)

optimizer = torch.optim.AdamW(model.parameters(), args.lr, weight_decay=0.05)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
loss_of = LabelSmoothingCrossEntropy(0.1)

for epoch in range(args.epochs):
    model.train()
    total = 0
    for images, labels in train:
        loss = loss_of(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()

    model.eval()
    with torch.no_grad():
        correct = sum((model(images).argmax(1) == labels).sum().item() for images, labels in val)
    print(f"epoch {epoch} loss {total / len(train):.4f} accuracy {correct}/{len(val.dataset)}", flush=True)

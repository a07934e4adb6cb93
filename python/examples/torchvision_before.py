"""Trains a ResNet from a folder of images with torchvision's ImageFolder and torch's DataLoader.

    python torchvision_before.py imagenet/train imagenet/val
"""
import argparse

import torch
import torchvision
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision import transforms

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

normalize = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
train_transform = transforms.Compose([transforms.RandomResizedCrop(args.size), transforms.RandomHorizontalFlip()] + normalize)
val_transform = transforms.Compose([transforms.Resize(round(args.size * 256 / 224)), transforms.CenterCrop(args.size)] + normalize)
train_set = torchvision.datasets.ImageFolder(args.train, train_transform)
val_set = torchvision.datasets.ImageFolder(args.val, val_transform)
train = DataLoader(train_set, min(args.batch_size, len(train_set)), shuffle=True, num_workers=args.workers, pin_memory=True, drop_last=True)
val = DataLoader(val_set, args.batch_size, num_workers=args.workers, pin_memory=True)

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

"""Trains a ResNet by torchvision's reference recipe V2. Its transforms are torchvision's; bale's workers run them.

    python reference_v2.py packs/train packs/val
"""
import argparse

import torch
import torchvision
from torch import nn
from torchvision import transforms

import bale
import bale.torch as bt

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("train", help="packed training images")
parser.add_argument("val", help="packed validation images")
parser.add_argument("--model", default="resnet50", help="of torchvision (resnet50)")
parser.add_argument("--epochs", type=int, default=600)
parser.add_argument("--batch-size", type=int, default=128)
parser.add_argument("--size", type=int, default=176, help="side of the training images in pixels (176)")
parser.add_argument("--lr", type=float, default=0.5)
parser.add_argument("--repeats", type=int, default=1, help="of each image in an epoch, drawn apart (1). The recipe's "
                    "RASampler has 4 of a quarter of the images: 4 here takes a quarter of its epochs")
parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# The lists of a script with ImageFolder, as they are. bale translates them: the same pixels, its own random numbers.
to_floats = [transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
augment = transforms.Compose([transforms.RandomResizedCrop(args.size), transforms.RandomHorizontalFlip(),
                              transforms.TrivialAugmentWide(), *to_floats, transforms.RandomErasing(0.1)])
evaluate = transforms.Compose([transforms.Resize(args.size * 232 // 176), transforms.CenterCrop(args.size * 224 // 176), *to_floats])

dataset = bale.Dataset(args.train)
train = bt.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                  order=bale.Order(repeats=args.repeats), transform=augment)
val = bt.Loader(args.val, args.batch_size, workers=args.workers, shuffle=False, tail="uneven", pin_memory=True, transform=evaluate)
train, val = bt.Prefetcher(train, device), bt.Prefetcher(val, device)

model = torchvision.models.get_model(args.model, num_classes=len(train.dataset.classes)).to(device)
norms = [p for p in model.parameters() if p.dim() == 1]
others = [p for p in model.parameters() if p.dim() > 1]
optimizer = torch.optim.SGD([{"params": norms, "weight_decay": 0}, {"params": others}], args.lr, momentum=0.9, weight_decay=2e-5)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)

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

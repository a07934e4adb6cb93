"""Cross-validation: each sample is validated in one fold, by a network that has not seen it."""
import torch
from common import EVAL, TRAIN, arguments, bale_transforms, make_network, report
from torch.nn import functional as F
from torch.utils.data import DataLoader, Subset
from torchvision.datasets import ImageFolder

FOLDS = 4
args = arguments()
if args.bale:
    import bale.torch as bt
    dataset = validation_set = bt.Dataset(args.pack)
else:
    dataset, validation_set = ImageFolder(args.folder, TRAIN), ImageFolder(args.folder, EVAL)
order = torch.randperm(len(dataset)).tolist()
seen, correct, folds = [], 0, []
for fold in range(FOLDS):
    held_out = order[fold::FOLDS]
    train_set = Subset(dataset, [i for i in order if i not in held_out])
    val_set = Subset(validation_set, held_out)
    if args.bale:
        train_transform, eval_transform = bale_transforms()
        train_loader = bt.Loader(train_set, batch_size=6, shuffle=True, workers=0, transform=train_transform)
        val_loader = bt.Loader(val_set, batch_size=6, shuffle=False, workers=0, transform=eval_transform)
    else:
        train_loader = DataLoader(train_set, batch_size=6, shuffle=True)
        val_loader = DataLoader(val_set, batch_size=6, shuffle=False)

    model = make_network(len(dataset.classes))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    trained_on = []
    for images, targets in train_loader:
        loss = F.cross_entropy(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        trained_on.extend(targets.tolist())
    model.eval()
    with torch.no_grad():
        for images, targets in val_loader:
            correct += (model(images).argmax(1) == targets).sum().item()
            seen.extend(targets.tolist())
    folds.append([len(train_loader), len(val_loader), len(train_loader.dataset), len(val_loader.dataset), sorted(trained_on)])
assert 0 <= correct <= len(seen)
report(order=order, folds=folds, seen=seen)

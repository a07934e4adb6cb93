"""Trains with DistributedDataParallel and evaluates on all ranks, each sample on one of them. Run it with torchrun."""
import torch
import torch.distributed as dist
from common import EVAL, TRAIN, arguments, bale_transforms, make_network, report
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder

args = arguments(("epochs", 2))
dist.init_process_group("gloo")
train_set, val_set = ImageFolder(args.folder, TRAIN), ImageFolder(args.folder, EVAL)
train_sampler = DistributedSampler(train_set, seed=7)
val_sampler = DistributedSampler(val_set, shuffle=False)
if args.bale:
    import bale.torch as bt
    train_transform, eval_transform = bale_transforms()
    train_loader = bt.Loader(args.pack, batch_size=4, sampler=train_sampler, num_workers=1, transform=train_transform)
    val_loader = bt.Loader(args.pack, batch_size=4, sampler=val_sampler, num_workers=1, transform=eval_transform)
else:
    train_loader = DataLoader(train_set, batch_size=4, sampler=train_sampler, num_workers=1)
    val_loader = DataLoader(val_set, batch_size=4, sampler=val_sampler, num_workers=1)
model = DistributedDataParallel(make_network(len(train_set.classes)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


@torch.no_grad()
def evaluate():
    model.eval()
    counts = torch.zeros(3, dtype=torch.float64)  # loss, correct, seen
    labels = torch.zeros(len(train_set.classes), dtype=torch.int64)
    for images, targets in val_loader:
        output = model(images)
        counts += torch.tensor([F.cross_entropy(output, targets, reduction="sum").item(),
                                (output.argmax(1) == targets).sum().item(), len(targets)])
        labels += torch.bincount(targets, minlength=len(labels))
    dist.all_reduce(counts)
    dist.all_reduce(labels)
    return counts.tolist(), labels.tolist()


before = evaluate()
orders = []
for epoch in range(args.epochs):
    if isinstance(train_loader.sampler, DistributedSampler):
        train_loader.sampler.set_epoch(epoch)
    model.train()
    order = []
    for images, targets in train_loader:
        loss = F.cross_entropy(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        order.extend(targets.tolist())
    orders.append(order)
(loss, *counted), labels = evaluate()
shares = [None] * dist.get_world_size()
dist.all_gather_object(shares, orders)
if dist.get_rank() == 0:
    report(before=before, seen=counted[1], labels=labels, epochs=[sorted(sum(epoch, [])) for epoch in zip(*shares)],
           reshuffled=orders[0] != orders[1], length=[len(train_loader), len(val_loader), len(train_loader.sampler)])
dist.destroy_process_group()  # else gloo's threads may abort when the interpreter ends (pytorch issue 190489)

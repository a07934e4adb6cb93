"""Stops after an epoch, starts again from its checkpoint, and skips the batches that were done."""
from common import TRAIN, arguments, bale_transforms, report
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder


def labels_of_a_run(args, start_epoch, start_step, end):
    """Labels of every batch from one place up to another."""
    # One process, but its order depends on the epoch alone, so that a restart finds the same one.
    sampler = DistributedSampler(range(args.samples), num_replicas=1, rank=0, seed=3)
    if args.bale:
        import bale.torch as bt
        loader = bt.Loader(args.pack, batch_size=8, sampler=sampler, num_workers=1, transform=bale_transforms()[0])
    else:
        loader = DataLoader(ImageFolder(args.folder, TRAIN), batch_size=8, sampler=sampler, num_workers=1)
    seen = []
    for epoch in range(start_epoch, 4):
        sampler.set_epoch(epoch)
        for step, (images, labels) in enumerate(loader):
            if (epoch, step) == end:
                return seen
            if epoch == start_epoch and step < start_step:
                continue
            seen.append(labels.tolist())
    return seen


args = arguments(("samples", 40))
whole = labels_of_a_run(args, 0, 0, None)
first = labels_of_a_run(args, 0, 0, (2, 3))
rest = labels_of_a_run(args, 2, 3, None)
orders = {str(whole[i:i + len(whole) // 4]) for i in range(0, len(whole), len(whole) // 4)}
report(batches=len(whole), same=first + rest == whole, orders=len(orders), labels=sorted(sum(whole, [])))

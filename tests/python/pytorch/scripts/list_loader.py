"""What people do at a prompt: list(loader), next(iter(loader)), zip, cycle, islice, enumerate, tqdm, pickle."""
import itertools
import pickle

import torch
from common import EVAL, TRAIN, arguments, bale_transforms, report
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

try:
    from tqdm import tqdm
except ImportError:
    def tqdm(loader, total):
        return loader

args = arguments()
if args.bale:
    import bale.torch as bt
    train_transform, eval_transform = bale_transforms()
    train_loader = bt.Loader(args.pack, batch_size=8, shuffle=True, num_workers=1, transform=train_transform)
    val_loader = bt.Loader(args.pack, batch_size=7, shuffle=False, num_workers=1, transform=eval_transform)
else:
    train_loader = DataLoader(ImageFolder(args.folder, TRAIN), batch_size=8, shuffle=True, num_workers=1)
    val_loader = DataLoader(ImageFolder(args.folder, EVAL), batch_size=7, shuffle=False, num_workers=1)

batches = list(val_loader)
images, targets = (torch.cat(part) for part in zip(*batches))
again = [targets for _, targets in tqdm(val_loader, total=len(val_loader))]
images.sub_(images.mean()).div_(images.std())  # in place, as people normalize

# One batch at a time, each from an iterator of its own: different ones.
singles = [tuple(image.sum().item() for image in next(iter(train_loader))[0]) for _ in range(4)]
# A fixed number of steps per epoch.
steps = [[image.sum().item() for images, _ in itertools.islice(train_loader, 2) for image in images] for epoch in range(3)]
# Two loaders side by side, the shorter one over and over.
pairs = sum(1 for (a, _), (b, _) in zip(train_loader, itertools.cycle(val_loader)))
iterator = iter(train_loader)
rows = 0
for step in range(12):
    try:
        batch = next(iterator)
    except StopIteration:
        iterator = iter(train_loader)
        batch = next(iterator)
    rows += len(batch[0])

dataset = pickle.loads(pickle.dumps(val_loader.dataset))
report(shape=list(images.shape), targets=targets.tolist(), again=torch.cat(again).equal(targets), pairs=pairs, rows=rows,
       singles=len(set(singles)), steps=len(set(map(tuple, steps))), length=[len(val_loader), len(iter(val_loader))],
       dataset=[len(dataset), dataset.classes, dataset.class_to_idx, dataset.targets],
       attributes=[val_loader.batch_size, val_loader.drop_last, val_loader.num_workers, val_loader.pin_memory,
                   val_loader.timeout, val_loader.worker_init_fn, val_loader.generator, val_loader.multiprocessing_context,
                   len(val_loader.sampler)])

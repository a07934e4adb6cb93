"""The background prefetcher of many projects: a daemon thread that is a few batches ahead, and is never joined."""
import os
import queue
import threading

import torch
from common import TRAIN, arguments, bale_transforms, report
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


class BackgroundGenerator(threading.Thread):
    def __init__(self, generator, max_prefetch=1):
        super().__init__(daemon=True)
        self.queue = queue.Queue(max_prefetch)  # 0: any number
        self.generator = generator
        self.start()

    def run(self):
        for item in self.generator:
            self.queue.put(item)
        self.queue.put(None)

    def __iter__(self):
        return self

    def __next__(self):
        item = self.queue.get()
        if item is None:
            raise StopIteration
        return item


args = arguments()
if args.bale:
    import bale.torch as bt
    loader = bt.Loader(args.pack, batch_size=4, shuffle=True, num_workers=1, transform=bale_transforms()[0])
else:
    loader = DataLoader(ImageFolder(args.folder, TRAIN), batch_size=4, shuffle=True, num_workers=1)
labels = [labels for images, labels in BackgroundGenerator(loader)]
endless = BackgroundGenerator((batch for _ in range(1000) for batch in loader), max_prefetch=0)
first, _ = next(endless)
report(batches=len(labels), labels=sorted(torch.cat(labels).tolist()), shape=list(first.shape))
# The script ends while the thread waits for the loader.
if not args.bale:
    os._exit(0)  # a thread in one of torch's functions may abort when the interpreter ends (pytorch issue 190489)

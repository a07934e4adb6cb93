"""Accelerate: prepare() takes model, optimizer, loaders and schedule; gather_for_metrics() collects what ranks predicted."""
import torch
from accelerate import Accelerator
from common import EVAL, TRAIN, arguments, bale_transforms, make_network, report
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

args = arguments(("epochs", 2))
accelerator = Accelerator(gradient_accumulation_steps=2)
if args.bale:
    import bale.torch as bt
    train_transform, eval_transform = bale_transforms()
    train_loader = bt.Loader(args.pack, batch_size=4, shuffle=True, num_workers=1, transform=train_transform,
                             device=accelerator.device)
    val_loader = bt.Loader(args.pack, batch_size=5, shuffle=False, num_workers=1, transform=eval_transform,
                           device=accelerator.device)
else:
    train_loader = DataLoader(ImageFolder(args.folder, TRAIN), batch_size=4, shuffle=True, num_workers=1)
    val_loader = DataLoader(ImageFolder(args.folder, EVAL), batch_size=5, shuffle=False, num_workers=1)
model = make_network(len(train_loader.dataset.classes))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train_loader))
model, optimizer, train_loader, val_loader, scheduler = accelerator.prepare(model, optimizer, train_loader, val_loader,
                                                                            scheduler)


@torch.no_grad()
def evaluate():
    model.eval()
    outputs, labels = [], []
    for images, targets in val_loader:
        output, targets = accelerator.gather_for_metrics((model(images), targets))
        outputs.append(output)
        labels.append(targets)
    outputs, labels = torch.cat(outputs), torch.cat(labels)
    return [F.cross_entropy(outputs, labels).item(), (outputs.argmax(1) == labels).float().mean().item(), labels.bincount().tolist()]


before = evaluate()
trained, updates = [], 0
for epoch in range(args.epochs):
    model.train()
    for images, targets in train_loader:
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(images), targets)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            updates += accelerator.sync_gradients
        trained.append(accelerator.gather(targets))
after = evaluate()
accelerator.wait_for_everyone()
if accelerator.is_main_process:
    report(before=before, updates=updates, trained=torch.cat(trained).bincount().tolist(), validated=after[2],
           batches=[len(train_loader), len(val_loader)])

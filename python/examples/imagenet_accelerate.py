"""Trains an ImageNet ResNet with Accelerate; save_state() and load_state() take the loader's place in the epoch along.

    accelerate launch imagenet_accelerate.py packs/train packs/val
    accelerate launch imagenet_accelerate.py packs/train packs/val --resume

Without a GPU, `accelerate launch` starts one process. torchrun starts several:

    torchrun --nproc_per_node 2 imagenet_accelerate.py packs/train packs/val
"""
import argparse

import torch
import torchvision
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs, set_seed
from torch.nn import functional as F

import bale
import bale.torch as bt


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", help="packed training images")
    parser.add_argument("val", help="packed validation images")
    parser.add_argument("--model", default="resnet50", help="of torchvision (resnet50)")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=128, help="of each process (128)")
    parser.add_argument("--size", type=int, default=224, help="side of the images in pixels (224)")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--workers", type=int, help="decoding processes of each process (one per core)")
    parser.add_argument("--checkpoint", default="checkpoint", help="folder to write (checkpoint)")
    parser.add_argument("--checkpoint-every", type=int, default=1000, metavar="STEPS")
    parser.add_argument("--resume", action="store_true", help="go on where the checkpoint was written")
    parser.add_argument("--log-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--max-steps", type=int, help="write a checkpoint and stop there")
    args = parser.parse_args()

    accelerator = make_accelerator()  # before the loaders: they ask torch.distributed for rank and world size
    set_seed(1)
    train = bt.Loader(args.train, args.batch_size, workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                      transform=bale.transforms.train(args.size))
    train = bt.Prefetcher(train, accelerator.device, normalize=True)
    val = bt.Loader(args.val, args.batch_size, workers=args.workers, shuffle=False, tail="uneven", with_mask=True,
                    pin_memory=True, transform=bale.transforms.val(args.size))
    val = bt.Prefetcher(val, accelerator.device, normalize=True)

    model = torchvision.models.get_model(args.model, num_classes=len(train.dataset.classes))
    model = model.to(memory_format=torch.channels_last)  # as the batches are
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
    model, optimizer = accelerator.prepare(model, optimizer)  # not the loaders: each rank has its share already
    accelerator.register_for_checkpointing(train, schedule)
    if args.resume:
        accelerator.load_state(args.checkpoint)

    for epoch in range(train.epoch, args.epochs):
        train.set_epoch(epoch)
        model.train()
        for images, labels in train:
            with accelerator.autocast():
                loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            step = schedule.last_epoch
            if step % args.log_every == 0:
                accelerator.print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
            if step % args.checkpoint_every == 0 or step == args.max_steps:
                accelerator.save_state(args.checkpoint)
            if step == args.max_steps:
                return
        correct, seen = accuracy(model, val, accelerator)
        accelerator.print(f"epoch {epoch} accuracy {correct}/{seen}", flush=True)


def make_accelerator():
    """Several processes without a GPU need two options. Newer versions of Accelerate do not connect them without `cpu`.
    And Accelerate prefers MPI if PyTorch has it, as Debian 13's does. MPI knows only processes that mpirun started: under
    torchrun each would be alone and train on everything."""
    on_cpus = torch.distributed.is_torchelastic_launched() and not torch.cuda.is_available()
    return Accelerator(cpu=on_cpus, kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")] if on_cpus else [])


@torch.no_grad()
def accuracy(model, val, accelerator):
    """Correct and seen, over all processes and of each sample once: rows that only fill up are masked out."""
    model.eval()
    counts = torch.zeros(2, dtype=torch.int64, device=accelerator.device)
    for images, labels, mask in val:
        counts += torch.stack([((model(images).argmax(1) == labels) & mask).sum(), mask.sum()])
    return accelerator.reduce(counts).tolist()


if __name__ == "__main__":
    main()

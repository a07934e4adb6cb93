"""Trains an ImageNet ResNet in plain PyTorch, from packed datasets. --resume continues at the step of the last checkpoint.

    bale pack imagenet/train packs/train
    bale pack imagenet/val packs/val
    python imagenet_torch.py packs/train packs/val
"""
import argparse
import os

import torch
import torchvision
from torch.nn import functional as F

import bale
import bale.torch as bt


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", help="packed training images")
    parser.add_argument("val", help="packed validation images")
    parser.add_argument("--model", default="resnet50", help="of torchvision (resnet50)")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--size", type=int, default=224, help="side of the images in pixels (224)")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", default="checkpoint.pt", help="file to write (checkpoint.pt)")
    parser.add_argument("--checkpoint-every", type=int, default=1000, metavar="STEPS")
    parser.add_argument("--resume", action="store_true", help="go on where the checkpoint was written")
    parser.add_argument("--log-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--max-steps", type=int, help="write a checkpoint and stop there")
    return parser.parse_args()


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    # Bytes travel to the device, a quarter of what floats would be, and are normalized there.
    train = bt.Loader(args.train, args.batch_size, workers=args.workers, seed=args.seed, drop_last=True, pin_memory=True,
                      transform=bale.transforms.train(args.size))
    train = bt.Prefetcher(train, device, normalize=True)
    val = bt.Loader(args.val, args.batch_size, workers=args.workers, shuffle=False, tail="uneven", with_mask=True,
                    pin_memory=True, transform=bale.transforms.val(args.size))
    val = bt.Prefetcher(val, device, normalize=True)

    model = torchvision.models.get_model(args.model, num_classes=len(train.dataset.classes))
    model = model.to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
    stateful = {"model": model, "optimizer": optimizer, "schedule": schedule, "loader": train}
    step = 0

    if args.resume:
        checkpoint = torch.load(args.checkpoint, map_location=device)
        step = checkpoint.pop("step")
        for name, state in checkpoint.items():
            stateful[name].load_state_dict(state)

    for epoch in range(train.epoch, args.epochs):
        train.set_epoch(epoch)
        model.train()
        for images, labels in train:
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
            if step % args.checkpoint_every == 0 or step == args.max_steps:
                state = {name: value.state_dict() for name, value in stateful.items()}
                torch.save({**state, "step": step}, args.checkpoint + ".new")
                os.replace(args.checkpoint + ".new", args.checkpoint)
            if step == args.max_steps:
                return
        print(f"epoch {epoch} accuracy {accuracy(model, val):.4f}", flush=True)


@torch.no_grad()
def accuracy(model, val):
    """Of each sample once: rows that only fill up the last batch are masked out."""
    model.eval()
    correct = seen = 0
    for images, labels, mask in val:
        correct += ((model(images).argmax(1) == labels) & mask).sum()
        seen += mask.sum()
    return (correct / seen).item()


if __name__ == "__main__":
    main()

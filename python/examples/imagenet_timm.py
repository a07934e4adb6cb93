"""Trains a timm model with timm's optimizer, schedule, Mixup and CutMix, on batches of a packed dataset.

    python imagenet_timm.py packs/train packs/val --model vit_small_patch16_224 --opt adamw --lr 5e-4 --mixup 0.2
"""
import argparse
import math

import timm
import torch
from timm.data import Mixup, resolve_model_data_config
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import AverageMeter, accuracy

import bale
import bale.torch as bt


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", help="packed training images")
    parser.add_argument("val", help="packed validation images")
    parser.add_argument("--model", default="resnet50", help="of timm (resnet50)")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--size", type=int, help="side of the images in pixels (the model's own)")
    parser.add_argument("--opt", default="lamb")
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--weight-decay", type=float, default=0.02)
    parser.add_argument("--warmup-epochs", type=int, default=5)
    parser.add_argument("--mixup", type=float, default=0.1)
    parser.add_argument("--cutmix", type=float, default=1.0)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--jitter", type=float, default=0.4, help="of brightness, contrast and saturation (0.4)")
    parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    num_classes = len(bale.Dataset(args.train).classes)
    model = timm.create_model(args.model, num_classes=num_classes).to(device, memory_format=torch.channels_last)
    config = resolve_model_data_config(model)
    size = args.size or config["input_size"][-1]
    normalize, interpolation = (config["mean"], config["std"]), config["interpolation"]
    train = bt.Loader(args.train, args.batch_size, workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                      transform=bale.transforms.train(size, jitter=(args.jitter,) * 3 + (0,), interpolation=interpolation))
    train = bt.Prefetcher(train, device, normalize=normalize)
    resize = math.floor(size / config["crop_pct"])
    val = bt.Loader(args.val, args.batch_size, workers=args.workers, shuffle=False, tail="uneven", with_mask=True,
                    pin_memory=True, transform=bale.transforms.val(size, resize=resize, interpolation=interpolation))
    val = bt.Prefetcher(val, device, normalize=normalize)

    mixup = Mixup(args.mixup, args.cutmix, label_smoothing=args.smoothing, num_classes=num_classes)
    optimizer = create_optimizer_v2(model, args.opt, args.lr, args.weight_decay)
    schedule, epochs = create_scheduler_v2(optimizer, num_epochs=args.epochs, warmup_epochs=args.warmup_epochs,
                                           warmup_lr=args.lr / 100, updates_per_epoch=len(train), step_on_epochs=False)
    loss_of = SoftTargetCrossEntropy()
    updates = 0

    for epoch in range(epochs):
        train.sampler.set_epoch(epoch)
        model.train()
        losses = AverageMeter()
        for images, labels in train:
            images, targets = mixup(images, labels)
            loss = loss_of(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            updates += 1
            schedule.step_update(updates)
            losses.update(loss.item(), len(images))

        model.eval()
        top1 = AverageMeter()
        with torch.no_grad():
            for images, labels, mask in val:  # rows that only fill up the last batch are masked out
                scores = model(images[mask])
                top1.update(accuracy(scores, labels[mask])[0].item(), len(scores))
        print(f"epoch {epoch} updates {updates} lr {optimizer.param_groups[0]['lr']:.2e} loss {losses.avg:.4f} "
              f"top-1 {top1.avg:.2f} of {top1.count}", flush=True)


if __name__ == "__main__":
    main()

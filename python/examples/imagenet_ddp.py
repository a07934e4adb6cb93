"""Trains an ImageNet ResNet with DistributedDataParallel. A checkpoint continues at its step on any number of GPUs.

    torchrun --nproc_per_node 8 imagenet_ddp.py packs/train packs/val
    torchrun --nproc_per_node 4 imagenet_ddp.py packs/train packs/val --resume

Each rank reads its share: bale.torch.Loader asks torch.distributed for rank and world size, and all ranks make equally
many steps.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torchvision
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import bale
import bale.torch as bt


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", help="packed training images")
    parser.add_argument("val", help="packed validation images")
    parser.add_argument("--model", default="resnet50", help="of torchvision (resnet50)")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=128, help="of each rank (128)")
    parser.add_argument("--size", type=int, default=224, help="side of the images in pixels (224)")
    parser.add_argument("--lr", type=float, default=0.1, help="at 256 images per step of all ranks (0.1)")
    parser.add_argument("--workers", type=int, help="decoding processes of each rank (its share of the cores)")
    parser.add_argument("--checkpoint", default="checkpoint.pt", help="file to write (checkpoint.pt)")
    parser.add_argument("--checkpoint-every", type=int, default=1000, metavar="STEPS")
    parser.add_argument("--resume", action="store_true", help="go on where the checkpoint was written")
    parser.add_argument("--max-steps", type=int, help="write a checkpoint and stop there")
    return parser.parse_args()


def main():
    args = arguments()
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    train_and_validate(args, on_gpu)
    # The model is gone by now. One that outlives the process group destroys it, and Gloo may then never return.
    dist.destroy_process_group()


def train_and_validate(args, on_gpu):
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    torch.manual_seed(0)

    workers = args.workers or max(1, os.cpu_count() // int(os.environ["LOCAL_WORLD_SIZE"]))
    dataset = bale.Dataset(args.train)
    batch_size = min(args.batch_size, len(dataset) // dist.get_world_size())
    train = bt.Loader(dataset, batch_size, workers=workers, seed=1, drop_last=True, pin_memory=True,
                      transform=bale.transforms.train(args.size))
    train = bt.Prefetcher(train, device, normalize=True)
    val = bt.Loader(args.val, args.batch_size, workers=workers, shuffle=False, tail="uneven", with_mask=True, pin_memory=True,
                    transform=bale.transforms.val(args.size))
    val = bt.Prefetcher(val, device, normalize=True)

    network = torchvision.models.get_model(args.model, num_classes=len(train.dataset.classes))
    network = network.to(device, memory_format=torch.channels_last)
    model = DistributedDataParallel(network, [local_rank] if on_gpu else None)
    scaled = args.lr * batch_size * dist.get_world_size() / 256
    optimizer = torch.optim.SGD(model.parameters(), scaled, momentum=0.9, weight_decay=1e-4, nesterov=True)
    stateful = {"network": network, "optimizer": optimizer, "loader": train}
    step = 0

    if args.resume:
        checkpoint = torch.load(args.checkpoint, map_location=device)
        step = checkpoint.pop("step")
        for name, state in checkpoint.items():
            stateful[name].load_state_dict(state)

    for epoch in range(train.epoch, args.epochs):
        train.set_epoch(epoch)
        model.train()
        for group in optimizer.param_groups:
            group["lr"] = scaled * 0.1 ** (epoch // 30)
        for images, labels in train:
            with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
                loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.checkpoint_every == 0 or step == args.max_steps:
                save({name: value.state_dict() for name, value in stateful.items()} | {"step": step}, args.checkpoint)
            if step == args.max_steps:
                break
        correct, seen = accuracy(model, val, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f} accuracy {correct}/{seen}", flush=True)
        if step == args.max_steps:
            break


def save(state, path):
    """On one rank: the state of its loader is that of all."""
    if dist.get_rank() == 0:
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)


@torch.no_grad()
def accuracy(model, val, device):
    """Correct and seen, over all ranks and of each sample once: rows that only fill up are masked out."""
    model.eval()
    counts = torch.zeros(2, dtype=torch.int64, device=device)
    for images, labels, mask in val:
        counts += torch.stack([((model(images).argmax(1) == labels) & mask).sum(), mask.sum()])
    dist.all_reduce(counts)
    return counts.tolist()


if __name__ == "__main__":
    main()

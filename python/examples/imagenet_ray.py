"""Trains an ImageNet ResNet with Ray Train. A worker that dies is replaced, and all continue in mid-epoch.

    python imagenet_ray.py /shared/packs/train /shared/packs/val --num-workers 8 --gpus --storage /shared/runs

Ray Train starts the processes and sets up torch.distributed. Each reads its share: bale.torch.Loader asks torch.distributed
for rank and world size. The loader's state is in Ray's checkpoints.
"""
import argparse
import os
import tempfile

import ray.train
import torch
import torchvision
from ray.train.torch import TorchTrainer, get_device, prepare_model
from torch.nn import functional as F

import bale
import bale.torch as bt


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", help="packed training images, under this path on each machine")
    parser.add_argument("val", help="packed validation images")
    parser.add_argument("--storage", required=True, help="directory for checkpoints that all machines share")
    parser.add_argument("--num-workers", type=int, default=2, help="training processes (2)")
    parser.add_argument("--gpus", action="store_true", help="one GPU per process")
    parser.add_argument("--max-failures", type=int, default=3, help="how often the processes are started again (3)")
    parser.add_argument("--model", default="resnet50", help="of torchvision (resnet50)")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=128, help="of each process (128)")
    parser.add_argument("--size", type=int, default=224, help="side of the images in pixels (224)")
    parser.add_argument("--lr", type=float, default=0.1, help="at 256 images per step of all processes (0.1)")
    parser.add_argument("--workers", type=int, default=2, help="decoding processes of each training process (2)")
    parser.add_argument("--checkpoint-every", type=int, default=1000, metavar="STEPS")
    return parser.parse_args()


def train_and_validate(args):
    """Runs in each process."""
    device = get_device()
    torch.manual_seed(0)
    train = bt.Loader(args["train"], args["batch_size"], workers=args["workers"], seed=1, drop_last=True,
                      transform=bale.transforms.train(args["size"]))
    train = bt.Prefetcher(train, device, normalize=True)
    val = bt.Loader(args["val"], args["batch_size"], workers=args["workers"], shuffle=False, tail="uneven", with_mask=True,
                    transform=bale.transforms.val(args["size"]))
    val = bt.Prefetcher(val, device, normalize=True)

    network = torchvision.models.get_model(args["model"], num_classes=len(train.dataset.classes))
    network = network.to(memory_format=torch.channels_last)  # as the batches are
    model = prepare_model(network)
    scaled = args["lr"] * args["batch_size"] * args["num_workers"] / 256
    optimizer = torch.optim.SGD(model.parameters(), scaled, momentum=0.9, weight_decay=1e-4, nesterov=True)
    stateful = {"model": model, "optimizer": optimizer, "loader": train}
    step = load(stateful, device)

    for epoch in range(train.epoch, args["epochs"]):
        train.set_epoch(epoch)
        model.train()
        loss = torch.zeros(())
        for images, labels in train:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            if step % args["checkpoint_every"] == 0:
                report({"step": step}, stateful)
        correct, seen = accuracy(model, val, device)
        report({"epoch": epoch, "step": step, "loss": loss.item(), "correct": correct, "seen": seen}, stateful)


def report(values, stateful):
    """Every process calls it. The checkpoint is that of one: the state of its loader is that of all."""
    if ray.train.get_context().get_world_rank() != 0:
        ray.train.report(values)
        return
    print(" ".join(f"{name} {value}" for name, value in values.items()), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        torch.save({name: value.state_dict() for name, value in stateful.items()} | {"step": values["step"]},
                   os.path.join(directory, "state.pt"))
        ray.train.report(values, checkpoint=ray.train.Checkpoint.from_directory(directory))


def load(stateful, device):
    """Goes on where the last checkpoint was written, after processes died. Returns its step."""
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is None:
        return 0
    with checkpoint.as_directory() as directory:
        state = torch.load(os.path.join(directory, "state.pt"), map_location=device)
    step = state.pop("step")
    for name, value in state.items():
        stateful[name].load_state_dict(value)
    return step


@torch.no_grad()
def accuracy(model, val, device):
    """Correct and seen, over all processes and of each sample once: rows that only fill up are masked out."""
    model.eval()
    counts = torch.zeros(2, dtype=torch.int64, device=device)
    for images, labels, mask in val:
        counts += torch.stack([((model(images).argmax(1) == labels) & mask).sum(), mask.sum()])
    torch.distributed.all_reduce(counts)
    return counts.tolist()


def main():
    args = arguments()
    args.train, args.val = os.path.abspath(args.train), os.path.abspath(args.val)  # processes run in other directories
    trainer = TorchTrainer(
        train_and_validate, train_loop_config=vars(args),
        scaling_config=ray.train.ScalingConfig(num_workers=args.num_workers, use_gpu=args.gpus),
        run_config=ray.train.RunConfig(storage_path=os.path.abspath(args.storage), name="imagenet",
                                       failure_config=ray.train.FailureConfig(max_failures=args.max_failures)))
    metrics = trainer.fit().metrics
    print(f"epoch {metrics['epoch']} step {metrics['step']} loss {metrics['loss']:.4f} accuracy {metrics['correct']}/{metrics['seen']}")


if __name__ == "__main__":
    main()

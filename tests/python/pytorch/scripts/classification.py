"""The loop of torchvision's reference training script, written again: samplers, meters, warm-up, EMA, evaluate, checkpoint."""
import os
import warnings
from collections import defaultdict

import torch
from common import EVAL, TRAIN, arguments, bale_transforms, make_network, report
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
from torchvision.datasets import ImageFolder


class MetricLogger:
    def __init__(self):
        self.values = defaultdict(list)

    def update(self, n=1, **values):
        for name, value in values.items():
            self.values[name].append((value, n))

    def log_every(self, iterable, print_freq, header):
        for i, batch in enumerate(iterable):
            yield batch
            if i % print_freq == 0 or i == len(iterable) - 1:
                print(f"{header} [{i}/{len(iterable)}]")

    def average(self, name):
        return sum(value * n for value, n in self.values[name]) / sum(n for _, n in self.values[name])


def train_one_epoch(model, criterion, optimizer, data_loader, device, epoch, model_ema):
    model.train()
    metric_logger = MetricLogger()
    for image, target in metric_logger.log_every(data_loader, 2, f"Epoch: [{epoch}]"):
        image, target = image.to(device), target.to(device)
        output = model(image)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model_ema.update_parameters(model)
        metric_logger.update(loss=loss.item(), n=image.shape[0])
        metric_logger.update(rows=image.shape[0])
    return sum(rows for rows, _ in metric_logger.values["rows"])


def evaluate(model, criterion, data_loader, device):
    model.eval()
    metric_logger = MetricLogger()
    num_processed_samples = 0
    with torch.inference_mode():
        for image, target in metric_logger.log_every(data_loader, 2, "Test:"):
            image, target = image.to(device, non_blocking=True), target.to(device, non_blocking=True)
            output = model(image)
            acc1 = (output.argmax(1) == target).float().mean().item() * 100
            metric_logger.update(loss=criterion(output, target).item(), acc1=acc1, n=image.shape[0])
            num_processed_samples += image.shape[0]
    if hasattr(data_loader.dataset, "__len__") and len(data_loader.dataset) != num_processed_samples:
        warnings.warn(f"{len(data_loader.dataset)} samples in the dataset, but {num_processed_samples} were validated")
    return [metric_logger.average("loss"), metric_logger.average("acc1")]


def main(args):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset, dataset_test = ImageFolder(args.folder, TRAIN), ImageFolder(args.folder, EVAL)
    train_sampler, test_sampler = RandomSampler(dataset), SequentialSampler(dataset_test)
    if args.bale:
        import bale.torch as bt
        train_transform, eval_transform = bale_transforms()
        data_loader = bt.Loader(args.pack, batch_size=8, sampler=train_sampler, num_workers=2, pin_memory=True,
                                collate_fn=None, transform=train_transform)
        data_loader_test = bt.Loader(args.pack, batch_size=6, sampler=test_sampler, num_workers=2, pin_memory=True,
                                     transform=eval_transform)
    else:
        data_loader = DataLoader(dataset, batch_size=8, sampler=train_sampler, num_workers=2, pin_memory=True, collate_fn=None)
        data_loader_test = DataLoader(dataset_test, batch_size=6, sampler=test_sampler, num_workers=2, pin_memory=True)

    model = make_network(len(dataset.classes)).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    lr_scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    model_ema = torch.optim.swa_utils.AveragedModel(model)
    start_epoch = 0
    if os.path.exists("checkpoint.pth"):
        checkpoint = torch.load("checkpoint.pth", map_location="cpu")
        model.load_state_dict(checkpoint["model"])
        model_ema.load_state_dict(checkpoint["model_ema"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        lr_scheduler.load_state_dict(checkpoint["lr_scheduler"])
        start_epoch = checkpoint["epoch"] + 1
    tests = [evaluate(model, criterion, data_loader_test, device=device)]
    rows = []
    for epoch in range(start_epoch, args.epochs):
        rows.append(train_one_epoch(model, criterion, optimizer, data_loader, device, epoch, model_ema))
        lr_scheduler.step()
        tests.append(evaluate(model, criterion, data_loader_test, device=device))
        tests.append(evaluate(model_ema, criterion, data_loader_test, device=device))
        torch.save({"model": model.state_dict(), "model_ema": model_ema.state_dict(), "optimizer": optimizer.state_dict(),
                    "lr_scheduler": lr_scheduler.state_dict(), "epoch": epoch}, "checkpoint.pth")
    report(first=tests[0] if start_epoch == 0 else None, learns=tests[-2][0] < tests[0][0], rows=rows, tests=len(tests),
           start=start_epoch)


if __name__ == "__main__":
    warnings.simplefilter("error", UserWarning)
    if not torch.cuda.is_available():  # DataLoader says that it cannot pin
        warnings.filterwarnings("ignore", ".*pin_memory.*")
    main(arguments(("epochs", 2)))

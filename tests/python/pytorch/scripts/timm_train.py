"""The loop of timm's train.py, written again around timm's own loader, mixup, EMA, schedule, meters and checkpoints."""
import time

import timm
import torch
from common import arguments, bale_transforms, report
from timm import utils
from timm.data import Mixup, create_dataset, create_loader
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, device, lr_scheduler, model_ema, mixup_fn, accum_steps=2):
    data_time_m, losses_m = utils.AverageMeter(), utils.AverageMeter()
    model.train()
    last_accum_steps = len(loader) % accum_steps
    updates_per_epoch = (len(loader) + accum_steps - 1) // accum_steps
    num_updates = epoch * updates_per_epoch
    last_batch_idx = len(loader) - 1
    last_batch_idx_to_accum = len(loader) - last_accum_steps
    data_start_time = time.time()
    optimizer.zero_grad()
    for batch_idx, (input, target) in enumerate(loader):
        need_update = batch_idx == last_batch_idx or (batch_idx + 1) % accum_steps == 0
        if batch_idx >= last_batch_idx_to_accum:
            accum_steps = last_accum_steps
        input, target = input.to(device), target.to(device)
        input, target = mixup_fn(input, target)
        input = input.contiguous(memory_format=torch.channels_last)
        data_time_m.update(accum_steps * (time.time() - data_start_time))
        loss = loss_fn(model(input), target) / accum_steps
        loss.backward()
        losses_m.update(loss.item() * accum_steps, input.size(0))
        if not need_update:
            continue
        optimizer.step()
        optimizer.zero_grad()
        num_updates += 1
        model_ema.update(model)
        lr_scheduler.step_update(num_updates=num_updates, metric=losses_m.avg)
        data_start_time = time.time()
    return num_updates, losses_m.count


@torch.no_grad()
def validate(model, loader, loss_fn, device):
    losses_m, top1_m, top5_m = utils.AverageMeter(), utils.AverageMeter(), utils.AverageMeter()
    model.eval()
    for batch_idx, (input, target) in enumerate(loader):
        input, target = input.to(device), target.to(device)
        output = model(input)
        loss = loss_fn(output, target)
        acc1, acc5 = utils.accuracy(output, target, topk=(1, 5))
        losses_m.update(loss.item(), input.size(0))
        top1_m.update(acc1.item(), output.size(0))
        top5_m.update(acc5.item(), output.size(0))
    return {"loss": losses_m.avg, "top1": top1_m.avg, "top5": top5_m.avg, "count": losses_m.count}


def main():
    args = arguments(("epochs", 2))
    utils.random_seed(42, 0)
    device = torch.device("cpu")
    model = timm.create_model("test_resnet", num_classes=5).to(device, memory_format=torch.channels_last)
    optimizer = create_optimizer_v2(model, opt="sgd", lr=0.01, weight_decay=2e-5)
    model_ema = utils.ModelEmaV2(model, decay=0.99)
    mixup_fn = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=5)
    if args.bale:
        import bale.torch as bt
        train_transform, eval_transform = bale_transforms()
        loader_train = bt.Loader(args.pack, batch_size=8, num_workers=1, drop_last=True, transform=train_transform)
        loader_eval = bt.Loader(args.pack, batch_size=6, num_workers=1, shuffle=False, transform=eval_transform)
    else:
        dataset_train = create_dataset("", root=args.folder, is_training=True, batch_size=8)
        dataset_eval = create_dataset("", root=args.folder, batch_size=6)
        loader_train = create_loader(dataset_train, (3, 32, 32), 8, is_training=True, use_prefetcher=False, num_workers=1,
                                     interpolation="bilinear", persistent_workers=False)
        loader_eval = create_loader(dataset_eval, (3, 32, 32), 6, use_prefetcher=False, num_workers=1,
                                    interpolation="bilinear", crop_pct=32 / 36, persistent_workers=False)
    updates_per_epoch = (len(loader_train) + 1) // 2
    lr_scheduler, num_epochs = create_scheduler_v2(optimizer, sched="cosine", num_epochs=args.epochs, warmup_epochs=1,
                                                   updates_per_epoch=updates_per_epoch, step_on_epochs=False)
    saver = utils.CheckpointSaver(model=model, optimizer=optimizer, model_ema=model_ema, checkpoint_dir=".",
                                  recovery_dir=".", decreasing=False, max_history=1)
    before = validate(model, loader_eval, torch.nn.CrossEntropyLoss(), device)
    trained = []
    for epoch in range(num_epochs):
        if hasattr(loader_train.sampler, "set_epoch"):
            loader_train.sampler.set_epoch(epoch)
        trained.append(train_one_epoch(epoch, model, loader_train, optimizer, SoftTargetCrossEntropy(), device, lr_scheduler,
                                       model_ema, mixup_fn))
        metrics = validate(model_ema.module, loader_eval, torch.nn.CrossEntropyLoss(), device)
        lr_scheduler.step(epoch + 1, metrics["top1"])
        saver.save_checkpoint(epoch, metric=metrics["top1"])
    report(before=before, trained=trained, epochs=num_epochs, count=metrics["count"],
           length=[len(loader_train), len(loader_eval), len(loader_train.dataset), len(loader_eval.sampler)])


if __name__ == "__main__":
    main()

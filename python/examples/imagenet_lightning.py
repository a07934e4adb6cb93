"""Trains an ImageNet ResNet with Lightning. Its checkpoints hold where the loader was, so ckpt_path continues in mid-epoch.

    python imagenet_lightning.py packs/train packs/val --devices 8
    python imagenet_lightning.py packs/train packs/val --devices 8 --resume checkpoints/last.ckpt
"""
import argparse

import lightning as L
import torch
import torchvision
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.nn import functional as F

import bale
import bale.torch as bt


class Packs(L.LightningDataModule):
    """Makes the loaders in the hooks, where Lightning has set up the ranks that they ask for."""

    def __init__(self, args):
        super().__init__()
        self.args = args
        self.floats = {"dtype": "float32", "normalize": True}

    def train_dataloader(self):
        return bt.Loader(self.args.train, self.args.batch_size, workers=self.args.workers, seed=1, drop_last=True,
                         pin_memory=True, transform=bale.transforms.train(self.args.size, **self.floats))

    def val_dataloader(self):
        return bt.Loader(self.args.val, self.args.batch_size, workers=self.args.workers, shuffle=False, tail="uneven",
                         with_mask=True, pin_memory=True, transform=bale.transforms.val(self.args.size, **self.floats))


class Classifier(L.LightningModule):
    def __init__(self, model, num_classes, lr, steps):
        super().__init__()
        self.save_hyperparameters()
        network = torchvision.models.get_model(model, num_classes=num_classes)
        self.network = network.to(memory_format=torch.channels_last)  # as the batches are

    def training_step(self, batch, _):
        images, labels = batch
        loss = F.cross_entropy(self.network(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def on_validation_epoch_start(self):
        self.counts = torch.zeros(2, device=self.device)

    def validation_step(self, batch, _):
        images, labels, mask = batch  # rows that only fill up the last batch are masked out
        hit = (self.network(images).argmax(1) == labels) & mask
        self.counts += torch.stack([hit.sum(), mask.sum()])

    def on_validation_epoch_end(self):
        correct, seen = self.trainer.strategy.reduce(self.counts, reduce_op="sum")
        self.log("accuracy", correct / seen, prog_bar=True, rank_zero_only=True)

    def configure_optimizers(self):
        # Not trainer.estimated_stepping_batches: it asks for the loader before there is a state to load into it.
        optimizer = torch.optim.SGD(self.parameters(), self.hparams.lr, momentum=0.9, weight_decay=1e-4)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.hparams.steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", help="packed training images")
    parser.add_argument("val", help="packed validation images")
    parser.add_argument("--model", default="resnet50", help="of torchvision (resnet50)")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--max-steps", type=int, default=-1, help="stop there")
    parser.add_argument("--batch-size", type=int, default=128, help="of each device (128)")
    parser.add_argument("--size", type=int, default=224, help="side of the images in pixels (224)")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--workers", type=int, help="decoding processes of each device (one per core)")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--precision", default="32-true", help="Lightning's, as bf16-mixed (32-true)")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder to write them into (checkpoints)")
    parser.add_argument("--checkpoint-every", type=int, default=1000, metavar="STEPS")
    parser.add_argument("--resume", metavar="CHECKPOINT")
    args = parser.parse_args()

    L.seed_everything(1)
    keep_last = ModelCheckpoint(args.checkpoints, save_last=True, every_n_train_steps=args.checkpoint_every)
    trainer = L.Trainer(max_epochs=args.epochs, max_steps=args.max_steps, devices=args.devices,
                        precision=args.precision, callbacks=[keep_last], default_root_dir=args.checkpoints,
                        log_every_n_steps=10)
    dataset = bale.Dataset(args.train)
    steps = args.epochs * (len(dataset) // (args.batch_size * args.devices))
    model = Classifier(args.model, len(dataset.classes), args.lr, steps)
    trainer.fit(model, datamodule=Packs(args), ckpt_path=args.resume)
    if trainer.is_global_zero:
        shown = {name: round(value.item(), 4) for name, value in trainer.callback_metrics.items()}
        print(f"step {trainer.global_step} {shown}")


if __name__ == "__main__":
    main()

"""A LightningModule and a Trainer; the loaders are made first and given to fit(), as in Lightning's own introduction."""
import lightning as L
import torch
from common import EVAL, TRAIN, arguments, bale_transforms, make_network, report
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


class Classifier(L.LightningModule):
    def __init__(self, num_classes):
        super().__init__()
        self.network = make_network(num_classes)
        self.trained, self.validated = [], []

    def training_step(self, batch, batch_idx):
        images, targets = batch
        self.trained.append(targets)
        loss = F.cross_entropy(self.network(images), targets)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        images, targets = batch
        self.validated.append(targets)
        output = self.network(images)
        self.log("val_loss", F.cross_entropy(output, targets), sync_dist=True)
        self.log("val_accuracy", (output.argmax(1) == targets).float().mean(), sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.01)
        steps = self.trainer.estimated_stepping_batches
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)]


args = arguments(("devices", 1), ("epochs", 2))
if args.bale:
    import bale.torch as bt
    train_transform, eval_transform = bale_transforms()
    train_loader = bt.Loader(args.pack, batch_size=4, shuffle=True, num_workers=1, transform=train_transform)
    val_loader = bt.Loader(args.pack, batch_size=5, shuffle=False, num_workers=1, transform=eval_transform)
else:
    train_loader = DataLoader(ImageFolder(args.folder, TRAIN), batch_size=4, shuffle=True, num_workers=1)
    val_loader = DataLoader(ImageFolder(args.folder, EVAL), batch_size=5, shuffle=False, num_workers=1)
model = Classifier(num_classes=5)
trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", devices=args.devices, log_every_n_steps=1, logger=False,
                    enable_checkpointing=False, enable_model_summary=False, enable_progress_bar=False)
before = trainer.validate(model, val_loader, verbose=False)[0]
model.validated.clear()
trainer.fit(model, train_loader, val_loader)


def of_all_ranks(labels):
    """Per class, how often it came."""
    counts = torch.bincount(torch.cat(labels), minlength=5)
    return trainer.strategy.reduce(counts, reduce_op="sum").tolist()


trained, validated = of_all_ranks(model.trained), of_all_ranks(model.validated)
if trainer.is_global_zero:
    report(before=before, steps=trainer.global_step, trained=trained, validated=validated,
           batches=[int(trainer.num_training_batches), int(trainer.num_val_batches[0])])
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()  # else gloo's threads may abort when the interpreter ends (pytorch issue 190489)

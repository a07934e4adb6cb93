"""One rank of the jobs of check_nodes.py under Lightning: fit() of a tiny network with DDP, a checkpoint after each step, which holds
the loader's state, and `ckpt_path` to continue. Lightning takes the ranks from torchrun's variables."""
import datetime
import os
import pathlib
import sys
import time
import types

import torch
from nodes_ledger import Rank

if torch.__version__.startswith("1."):
    # Lightning registers torch 1.13's sharded tensors, which cannot be imported under Python 3.11.
    hooks = types.ModuleType("torch.distributed._shard.sharded_tensor")
    hooks.state_dict_hook = hooks.pre_load_state_dict_hook = lambda *_: None
    sys.modules[hooks.__name__] = hooks
import lightning as L  # noqa: E402
from lightning.pytorch.plugins.environments import TorchElasticEnvironment  # noqa: E402
from lightning.pytorch.strategies import DDPStrategy  # noqa: E402


class Network(L.LightningModule):
    def __init__(self, rank, loader, first_epoch):
        super().__init__()
        self.rank_, self.loader, self.first_epoch = rank, loader, first_epoch
        self.layer = torch.nn.Linear(3, 2)

    def training_step(self, batch, _):
        images, _, mask, samples = batch
        # Before the gradients are averaged, which is the collective operation of a step.
        self.rank_.note(self.first_epoch + self.current_epoch, self.loader.state_dict()["position"], mask, samples)
        return self.layer(images.float().mean((2, 3))).square().mean()

    def on_train_batch_end(self, *_):
        after = self.loader.state_dict()
        name = self.rank_.state_file.with_name(f"{os.environ['BALE_ATTEMPT']}-{self.global_step}.ckpt")
        self.trainer.save_checkpoint(name)
        if self.trainer.is_global_zero:
            self.rank_.save({**after, "checkpoint": str(name), "first_epoch": self.first_epoch})
        time.sleep(self.rank_.job["pause"])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    rank = Rank()
    # A checkpoint counts the epochs of its own run. One that begins again counts from the state's epoch.
    first_epoch = rank.state["first_epoch"] if rank.continues else rank.first_epoch
    with rank.make_loader() as loader, rank.ledger:
        loader.set_epoch(first_epoch)
        strategy = DDPStrategy(process_group_backend="gloo", timeout=datetime.timedelta(seconds=rank.job["timeout"]))
        trainer = L.Trainer(max_epochs=rank.job["epochs"] - first_epoch, accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
                            num_nodes=rank.nodes, strategy=strategy, plugins=[TorchElasticEnvironment()], logger=False,
                            enable_checkpointing=False, enable_model_summary=False, enable_progress_bar=False,
                            default_root_dir=pathlib.Path(rank.job["ledger"]))
        trainer.fit(Network(rank, loader, first_epoch), loader, ckpt_path=rank.state["checkpoint"] if rank.continues else None)


if __name__ == "__main__":
    main()

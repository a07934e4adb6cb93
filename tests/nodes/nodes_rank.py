"""One rank of the jobs of check_nodes.py, in a loop of its own. all_reduce fails, or waits until its time limit, if ranks make
unequal numbers of steps."""
import datetime
import time

import torch
import torch.distributed as dist
from nodes_ledger import Rank


def train_epochs(rank):
    with rank.make_loader() as loader, rank.ledger:
        if rank.continues:
            loader.load_state_dict(rank.state)
        for epoch in range(rank.first_epoch, rank.job["epochs"]):
            loader.set_epoch(epoch)
            for _, _, mask, samples in loader:
                after = loader.state_dict()
                rank.note(epoch, after["position"], mask, samples)
                dist.all_reduce(torch.ones(1))
                if rank.rank == 0:
                    rank.save(after)
                time.sleep(rank.job["pause"])


def main():
    rank = Rank()
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=rank.job["timeout"]))
    train_epochs(rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""What a rank of the jobs of check_nodes.py has whatever trains there: its loader, and a ledger of the samples.

A rank is started with the variables that torchrun sets, and BALE_JOB: a JSON object with `spec`, `shuffle`, `tail`, `batch_size`,
`epochs`, `state` (file, shared by all), `ledger` (folder, likewise), `pause` (seconds per step), `timeout` (of the process group) and
`begin_again`: begin the state's epoch again, instead of continuing within it.

A line of the ledger is written before the step's collective operation, and the state after it: so the lines of what a state covers
are all there, whoever was killed.
"""
import json
import os
import pathlib

import bale
import bale.torch as bt


class Rank:
    def __init__(self):
        self.job = json.loads(os.environ["BALE_JOB"])
        self.rank, self.nodes = int(os.environ["RANK"]), int(os.environ["GROUP_WORLD_SIZE"])
        self.state_file = pathlib.Path(self.job["state"])
        self.state = json.loads(self.state_file.read_text()) if self.state_file.exists() else None
        self.first_epoch = self.state["epoch"] if self.state else 0
        self.ledger = open(pathlib.Path(self.job["ledger"], f"{os.environ['BALE_ATTEMPT']}-{self.rank}.jsonl"), "w")

    def make_loader(self):
        job = self.job
        return bt.Loader(job["spec"], job["batch_size"], shuffle=job["shuffle"], tail=job["tail"], seed=5, workers=1,
                         transform=bale.transforms.val(16), with_mask=True, with_samples=True)

    @property
    def continues(self):
        """Whether it continues in the middle of the state's epoch."""
        return self.state is not None and not self.job["begin_again"]

    def note(self, epoch, position, mask, samples):
        """Before the collective operation of a step."""
        self.ledger.write(json.dumps({"epoch": epoch, "position": position, "node": int(os.environ["GROUP_RANK"]),
                                      "nodes": self.nodes, "samples": samples.indices[mask.bool()].tolist()}) + "\n")
        self.ledger.flush()

    def save(self, state):
        """After it, on rank 0."""
        beside = self.state_file.with_suffix(".new")
        beside.write_text(json.dumps(state))
        beside.replace(self.state_file)

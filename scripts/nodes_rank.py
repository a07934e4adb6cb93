"""One rank of the jobs of check_nodes.py: reads batches, keeps a ledger of the samples, and saves the loader's state each step.

Started with the variables that torchrun sets, and BALE_JOB: a JSON object with `spec`, `shuffle`, `tail`, `batch_size`, `epochs`,
`state` (file, shared by all), `ledger` (folder, likewise), `pause` (seconds per step), `timeout` (of the process group) and
`begin_again`: begin the state's epoch again, instead of continuing within it.

A line of the ledger is written before the step's all_reduce, and the state after it: so the lines of what a state covers are
all there, whoever was killed. all_reduce fails, or waits until its time limit, if ranks make unequal numbers of steps.
"""
import datetime
import json
import os
import pathlib
import time

import torch
import torch.distributed as dist

import bale
import bale.torch as bt


def main():
    job = json.loads(os.environ["BALE_JOB"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=job["timeout"]))
    rank, nodes = dist.get_rank(), int(os.environ["GROUP_WORLD_SIZE"])
    state_file = pathlib.Path(job["state"])
    loader = bt.Loader(job["spec"], job["batch_size"], shuffle=job["shuffle"], tail=job["tail"], seed=5, workers=1,
                       transform=bale.transforms.val(16), with_mask=True, with_samples=True)
    first = 0
    if state_file.exists():
        state = json.loads(state_file.read_text())
        first = state["epoch"]
        if not job["begin_again"]:
            loader.load_state_dict(state)
    name = f"{os.environ['BALE_ATTEMPT']}-{rank}.jsonl"
    with loader, open(pathlib.Path(job["ledger"], name), "w") as ledger:
        for epoch in range(first, job["epochs"]):
            loader.set_epoch(epoch)
            for _, _, mask, samples in loader:
                after = loader.state_dict()
                ledger.write(json.dumps({"epoch": epoch, "position": after["position"], "node": int(os.environ["GROUP_RANK"]),
                                         "nodes": nodes, "samples": samples.indices[mask.bool()].tolist()}) + "\n")
                ledger.flush()
                dist.all_reduce(torch.ones(1))
                if rank == 0:
                    beside = state_file.with_suffix(".new")
                    beside.write_text(json.dumps(after))
                    beside.replace(state_file)
                time.sleep(job["pause"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""One measurement of bench_python.py, in a process and an environment of its own. Prints one JSON object.

    bench_python_runs.py loader NAME WORKERS FOLDER PACKS           bale.torch.Loader or a peer, as a training loop sees it
    bench_python_runs.py layer numpy|torch PACK WORKERS             bale's loader driven from Python
    bench_python_runs.py map NAME METHOD KIND WORKERS EPOCHS PACKS  a map-style Dataset in torch's DataLoader
"""
import json
import os
import sys
import time

import bench_train_peers as peers

BALE_FORMATS = ["tar", "lmdb", "hdf5"]


def bale_torch(kind):
    def pipeline(folder, packs, workers):
        import bale.torch
        return peers.Images(bale.torch.Loader(f"{packs}/{kind}", peers.BATCH, workers=workers, seed=1,
                                              transform=bale.transforms.train(peers.SIDE)))
    return pipeline


def loader(name, workers, folder, packs):
    pipeline = bale_torch(name.split()[1]) if name.startswith("bale ") else peers.CONTENDERS[name][0]
    return peers.measure(pipeline, folder, packs, int(workers))


# --- the layer: what `bale bench` does in C++, batch by batch

def pages_of(images):
    """A byte of every page, as the C++ side touches them; `images` N x H x W x C, contiguous."""
    return int(images.reshape(-1)[::4096].sum())


def layer(kind, pack, workers):
    import bale
    if kind == "torch":
        import torch

        import bale.torch
        torch.set_num_threads(1)
    module = bale.torch if kind == "torch" else bale
    with module.Loader(pack, peers.BATCH, workers=int(workers), transform=bale.transforms.train(peers.SIDE)) as batches:
        for images, labels in batches:
            pages_of(images.permute(0, 2, 3, 1) if kind == "torch" else images)
        count, cpu, start = 0, peers.cpu_seconds(), time.monotonic()
        for images, labels in batches:
            pages_of(images.permute(0, 2, 3, 1) if kind == "torch" else images)
            count += len(labels)
            del images, labels  # the slot goes back before the next batch is waited for, as in C++
        seconds = time.monotonic() - start
        return {"images_per_s": count / seconds, "cpu_s_per_1000": (peers.cpu_seconds() - cpu) / count * 1000}


# --- map style

def as_stored(stored):
    return stored


def map_dataset(name, kind, packs):
    if name == "py-lmdb":
        return peers.samples_of(packs, "lmdb", as_stored if kind == "stored" else peers.ByPillow())
    import bale.torch
    pack = f"{packs}/{name.split()[1]}"
    if kind == "stored":
        return bale.torch.Dataset(pack, decode="bytes")
    return bale.torch.Dataset(pack, peers.from_pillow())


def map_style(name, method, kind, workers, epochs, packs):
    """Images/s over all epochs but the first, which starts the workers, and memory at the end of each."""
    import torch
    dataset = map_dataset(name, kind, packs)
    batches = torch.utils.data.DataLoader(dataset, peers.BATCH, shuffle=True, num_workers=int(workers),
                                          persistent_workers=True, multiprocessing_context=method,
                                          collate_fn=list if kind == "stored" else None)
    images, seconds, memory = 0, 0.0, []
    for epoch in range(int(epochs)):
        start = time.monotonic()
        count = 0
        for batch in batches:
            count += len(batch if kind == "stored" else batch[1])
        if epoch > 0:
            images, seconds = images + count, seconds + time.monotonic() - start
        memory.append(peers.pss_megabytes())
    return {"images_per_s": images / seconds, "memory_mb": memory}


def main():
    what, *arguments = sys.argv[1:]
    result = {"loader": loader, "layer": layer, "map": map_style}[what](*arguments)
    print(json.dumps(result), flush=True)
    os._exit(0)  # some peers hang, or complain, when they are torn down in the middle of an epoch


if __name__ == "__main__":
    main()

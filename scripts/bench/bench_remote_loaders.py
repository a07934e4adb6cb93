#!/usr/bin/env python3
"""One loader that reads images from a server, measured: a subprocess of bench_remote.py, in the environment that it makes.

Each gives batches of 64 images from two worker processes, shuffled as it usually is, decoded, RandomResizedCrop(224),
flipped at random, uint8. The peers decode by Pillow and transform by torchvision. Prints one line of JSON per epoch. Time
and CPU count from when the libraries are imported: what follows is opening the dataset, starting workers and reading.

    bench_remote_loaders.py NAME --endpoint URL --bucket FOLDER --cache DIRECTORY [--epochs N]
    bench_remote_loaders.py NAME --make IMAGES --bucket FOLDER       writes what it reads, in its own format
    bench_remote_loaders.py --list                                   the loaders, and what each needs

FOLDER is the bucket as the server has it. Loaders of local files read it directly.
"""
import argparse
import dataclasses
import importlib
import importlib.util
import json
import os
import pathlib
import sys
import time
from typing import Callable

import bench_common
import bench_train_peers

BATCH = 64
WORKERS = 2
PREFETCH = 4
SHUFFLE_BUFFER = 1000  # samples, of loaders that read in sequence
SHARDS = 12
REGION = "us-east-1"


@dataclasses.dataclass
class Place:
    """Where a loader finds its data, and may keep a copy."""
    endpoint: str
    folder: pathlib.Path
    cache: pathlib.Path

    def s3(self, name):
        return f"s3://{self.folder.name}/{name}"

    def shards(self, name, suffix):
        return sorted(path.name for path in (self.folder / name).iterdir() if path.suffix == suffix)

    def urls(self, name, suffix):
        return [f"{self.endpoint}/{self.folder.name}/{name}/{shard}" for shard in self.shards(name, suffix)]


class Images:
    """Only the images of a loader's batches."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return (images for images, _ in self.loader)


def torch_loader(dataset, loader=None, **options):
    import torch
    make = loader or torch.utils.data.DataLoader
    return Images(make(dataset, batch_size=BATCH, num_workers=WORKERS, persistent_workers=True,
                                         prefetch_factor=PREFETCH, **options))


class Shuffled:
    """Through a buffer, as webdataset and datasets do it."""

    def __init__(self, samples):
        import random
        self.samples, self.random = samples, random.Random(1)

    def __iter__(self):
        buffer = []
        for sample in self.samples:
            if len(buffer) < SHUFFLE_BUFFER:
                buffer.append(sample)
                continue
            place = self.random.randrange(SHUFFLE_BUFFER)
            buffer[place], sample = sample, buffer[place]
            yield sample
        self.random.shuffle(buffer)
        yield from buffer


# --- bale

def bale_loader(spec):
    import bale
    return Images(bale.Loader(spec, batch_size=BATCH, transform=bale.transforms.train(224), workers=WORKERS))


def bale_local(place):
    return bale_loader(place.folder / "tar")


def bale_remote(place):
    return bale_loader(place.s3("tar"))


def make_bale(images, folder):
    import subprocess
    subprocess.run([bench_common.BALE, "pack", images, folder / "tar", "--format", "tar", "--shard-count", str(SHARDS),
                    "--shuffle", "1", "--quiet"], check=True)


# --- LitData

def litdata(place):
    import litdata
    from litdata.streaming import downloader
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # it has no option for a server without TLS

    class Samples(litdata.StreamingDataset):
        to_pixels = bench_train_peers.ByPillow()

        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return self.to_pixels(sample["image"]), sample["label"]

    dataset = Samples(place.s3("litdata"), cache_dir=str(place.cache), shuffle=True, max_cache_size="50GB",
                      storage_options={"endpoint_url": place.endpoint, "region_name": REGION,
                                       "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
                                       "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"]})
    return torch_loader(dataset, litdata.StreamingDataLoader)


def labeled_bytes(entry):
    path, label = entry
    return {"image": bench_common.content(path), "label": label}


def make_litdata(images, folder):
    import litdata
    files = mixed_files(images)
    litdata.optimize(labeled_bytes, files, str(folder / "litdata"), chunk_bytes=shard_bytes(files), num_workers=2,
                     verbose=False)


# --- MosaicML streaming

def mosaicml(place):
    import streaming

    class Samples(streaming.StreamingDataset):
        to_pixels = bench_train_peers.ByPillow()

        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return self.to_pixels(sample["image"]), sample["label"]

    streaming.base.util.clean_stale_shared_memory()
    return torch_loader(Samples(remote=place.s3("mds"), local=str(place.cache), shuffle=True, batch_size=BATCH))


def make_mosaicml(images, folder):
    import streaming
    files = mixed_files(images)
    with streaming.MDSWriter(out=str(folder / "mds"), columns={"image": "bytes", "label": "int"},
                             size_limit=shard_bytes(files)) as writer:
        for entry in files:
            writer.write(labeled_bytes(entry))


# --- webdataset, on bale's tars

def webdataset_of(urls):
    import webdataset
    dataset = webdataset.WebDataset(urls, shardshuffle=100, empty_check=False).shuffle(SHUFFLE_BUFFER)
    dataset = dataset.to_tuple("jpg", "cls").map_tuple(bench_train_peers.ByPillow(), int).batched(BATCH)
    return Images(webdataset.WebLoader(dataset, batch_size=None, num_workers=WORKERS,
                                                         persistent_workers=True, prefetch_factor=PREFETCH))


def webdataset_pipe(place):
    return webdataset_of([f"pipe:curl -s -f -L {url}" for url in place.urls("tar", ".tar")])


def webdataset_url(place):
    return webdataset_of(place.urls("tar", ".tar"))


# --- s3torchconnector

def s3_options(place):
    from s3torchconnector import S3ClientConfig
    return {"region": REGION, "endpoint": place.endpoint, "s3client_config": S3ClientConfig(force_path_style=True)}


def s3_objects(place):
    """One object per image, in random order."""
    from s3torchconnector import S3MapDataset
    to_pixels = bench_train_peers.ByPillow()
    names = [place.s3(f"objects/{path.parent.name}/{path.name}") for path in sorted((place.folder / "objects").glob("*/*"))]
    return torch_loader(S3MapDataset.from_objects(names, **s3_options(place),
                                                  transform=lambda reader: (to_pixels(reader.read()), 0)), shuffle=True)


def tar_samples(reader):
    """(JPEG, label) of a tar that is read as it comes."""
    import tarfile
    fields = {}
    with tarfile.open(fileobj=reader, mode="r|") as archive:
        for member in archive:
            fields[member.name.rsplit(".")[-1]] = archive.extractfile(member).read()
            if fields.keys() == {"jpg", "cls"}:
                yield fields["jpg"], int(fields["cls"])
                fields = {}


def s3_shards(place):
    """Tars, each read in sequence, as Amazon advises."""
    import torch
    from s3torchconnector import S3IterableDataset
    names = [place.s3(f"tar/{name}") for name in place.shards("tar", ".tar")]
    archives = S3IterableDataset.from_objects(names, **s3_options(place), transform=tar_samples, enable_sharding=True)

    class Samples(torch.utils.data.IterableDataset):
        to_pixels = bench_train_peers.ByPillow()

        def __iter__(self):
            stored = (sample for archive in archives for sample in archive)
            return ((self.to_pixels(image), label) for image, label in Shuffled(stored))

    return torch_loader(Samples())


def make_objects(images, folder):
    import shutil
    shutil.copytree(images, folder / "objects")


# --- HF datasets

def hf_parquet(place):
    import datasets
    to_pixels = bench_train_peers.ByPillow()
    options = {"key": os.environ["AWS_ACCESS_KEY_ID"], "secret": os.environ["AWS_SECRET_ACCESS_KEY"],
               "endpoint_url": place.endpoint}
    names = [place.s3(f"parquet/{name}") for name in place.shards("parquet", ".parquet")]
    dataset = datasets.load_dataset("parquet", data_files={"train": names}, split="train", streaming=True,
                                    storage_options=options, cache_dir=str(place.cache))
    dataset = dataset.cast_column("image", datasets.Image(decode=False)).shuffle(seed=1, buffer_size=SHUFFLE_BUFFER)

    def collate(samples):
        import torch
        pixels = torch.stack([to_pixels(sample["image"]["bytes"]) for sample in samples])
        return pixels, torch.tensor([sample["label"] for sample in samples])

    return torch_loader(dataset, collate_fn=collate)


def make_parquet(images, folder):
    import datasets
    files = mixed_files(images)
    (folder / "parquet").mkdir()
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    for number in range(SHARDS):
        part = files[number * len(files) // SHARDS:(number + 1) * len(files) // SHARDS]
        rows = {"image": [{"bytes": bench_common.content(path), "path": None} for path, _ in part],
                "label": [label for _, label in part]}
        datasets.Dataset.from_dict(rows, features=features).to_parquet(folder / "parquet" / f"{number:05d}.parquet")


# --- what they share

def mixed_files(images):
    """The files in a random order, as datasets are packed that are read in sequence."""
    import random
    files = bench_common.listing(images)
    random.Random(1).shuffle(files)
    return files


def shard_bytes(files):
    return -(-sum(os.path.getsize(path) for path, _ in files) // SHARDS)


@dataclasses.dataclass
class Contender:
    make_loader: Callable
    modules: list
    reads: str                 # a folder of the bucket
    make_data: Callable        # that makes it
    caches: bool = False       # a second epoch needs no server


TORCH = ["torch", "torchvision", "PIL"]
CONTENDERS = {
    "bale, local files": Contender(bale_local, ["numpy", "bale"], "tar", make_bale, True),
    "bale, cold cache": Contender(bale_remote, ["numpy", "bale"], "tar", make_bale, True),
    "bale, warm cache": Contender(bale_remote, ["numpy", "bale"], "tar", make_bale, True),
    "bale, small cache": Contender(bale_remote, ["numpy", "bale"], "tar", make_bale, True),
    "litdata": Contender(litdata, [*TORCH, "litdata"], "litdata", make_litdata, True),
    "mosaicml-streaming": Contender(mosaicml, [*TORCH, "streaming"], "mds", make_mosaicml, True),
    "webdataset, pipe:curl": Contender(webdataset_pipe, [*TORCH, "webdataset"], "tar", make_bale),
    "webdataset, URL": Contender(webdataset_url, [*TORCH, "webdataset"], "tar", make_bale),
    "s3torchconnector, objects": Contender(s3_objects, [*TORCH, "s3torchconnector"], "objects", make_objects),
    "s3torchconnector, tars": Contender(s3_shards, [*TORCH, "s3torchconnector"], "tar", make_bale),
    "datasets, parquet": Contender(hf_parquet, [*TORCH, "datasets", "s3fs"], "parquet", make_parquet),
}


def measure(contender, place, epochs):
    begin, cpu = time.monotonic(), bench_train_peers.cpu_seconds()
    loader = contender.make_loader(place)
    for _ in range(epochs):
        first, images, first_images, checksum = None, 0, 0, 0
        for batch in loader:
            checksum += bench_train_peers.touch(batch)
            images += batch.shape[0]
            if first is None:
                first, first_images = time.monotonic(), images
        now, cpu_now = time.monotonic(), bench_train_peers.cpu_seconds()
        print(json.dumps({"images": images, "first_batch_s": first - begin, "images_per_s": images / (now - begin),
                          "later_images_per_s": (images - first_images) / (now - first),
                          "cpu_s_per_1000": (cpu_now - cpu) / images * 1000, "checksum": checksum}), flush=True)
        begin, cpu = time.monotonic(), bench_train_peers.cpu_seconds()


def main():
    if sys.argv[1:] == ["--list"]:
        print(json.dumps({name: {"missing": [m for m in one.modules if importlib.util.find_spec(m) is None],
                                 "reads": one.reads, "caches": one.caches} for name, one in CONTENDERS.items()}))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=list(CONTENDERS))
    parser.add_argument("--bucket", type=pathlib.Path, required=True)
    parser.add_argument("--make", type=pathlib.Path)
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()
    contender = CONTENDERS[args.name]
    if args.make:
        contender.make_data(args.make, args.bucket)
        return 0
    for module in contender.modules:
        importlib.import_module(module)
    measure(contender, Place(args.endpoint, args.bucket, args.cache), args.epochs)
    sys.stdout.flush()
    os._exit(0)  # some peers hang, or complain, when they are torn down


if __name__ == "__main__":
    sys.exit(main())

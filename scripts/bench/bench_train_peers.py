#!/usr/bin/env python3
"""One training input pipeline of another library, measured: a subprocess of bench_train.py, in the peers' environment.

Each contender gives batches of 256 images, decoded, RandomResizedCrop(224), flipped at random, uint8. The first epoch
warms up, the second is timed as a whole, and memory is looked at during a third, so that looking costs nothing.
Prints one JSON object. `--make` writes the packs that only a peer can write.

    bench_train_peers.py --list                         contenders and the modules that they need
    bench_train_peers.py NAME --workers W FOLDER PACKS  measures one
    bench_train_peers.py NAME --make FOLDER PACKS       makes what it reads, where it needs anything
"""
import argparse
import glob
import importlib.util
import io
import json
import os
import pathlib
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

BATCH = 256  # as bench_train.py asks bale for
SIDE = 224
PREFETCH = 4


# --- pipelines: each takes (folder, packs, workers) and gives an object whose iteration is one epoch of uint8 batches

def crop_and_flip(*more):
    import torch
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    return v2.Compose([v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip(), *more])


def from_pillow():
    from torchvision.transforms import v2
    return crop_and_flip(v2.PILToTensor())


class ByPillow:
    """A stored image to pixels, the usual way."""

    def __init__(self):
        self.transform = from_pillow()

    def __call__(self, stored):
        from PIL import Image
        return self.transform(Image.open(io.BytesIO(stored)).convert("RGB"))


class ByTorchvision:
    """The same with torchvision's decoder and transforms of tensors."""

    def __init__(self):
        self.transform = crop_and_flip()

    def __call__(self, stored):
        import torch
        from torchvision.io import ImageReadMode, decode_jpeg
        return self.transform(decode_jpeg(torch.frombuffer(bytearray(stored), dtype=torch.uint8), ImageReadMode.RGB))


class Images:
    """Only the images of a loader's batches."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return (batch[0] for batch in self.loader)


def torch_loader(dataset, workers):
    import torch
    return Images(torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers,
                                              persistent_workers=workers > 0,
                                              prefetch_factor=PREFETCH if workers else None))


def imagefolder_pillow(folder, packs, workers):
    from torchvision.datasets import ImageFolder
    return torch_loader(ImageFolder(folder, from_pillow()), workers)


def decode_file(path):
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    return decode_jpeg(read_file(path), mode=ImageReadMode.RGB)


def torchvision_decode(folder, packs, workers):
    from torchvision.datasets import ImageFolder
    return torch_loader(ImageFolder(folder, crop_and_flip(), loader=decode_file), workers)


class LmdbSamples:
    """The common recipe: one environment a worker, opened on first use."""

    def __init__(self, path, to_pixels):
        import lmdb
        self.path, self.transaction, self.to_pixels = path, None, to_pixels
        with lmdb.open(path, subdir=False, readonly=True, lock=False) as env, env.begin() as transaction:
            self.size = int(transaction.get(b"__len__"))

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if self.transaction is None:
            import lmdb
            env = lmdb.open(self.path, subdir=False, readonly=True, lock=False, readahead=False, meminit=False)
            self.transaction = env.begin()
        label = int(self.transaction.get(b"%08d.cls" % i))
        return self.to_pixels(self.transaction.get(b"%08d" % i)), label


class H5Samples:
    """Likewise with one file a worker."""

    def __init__(self, path, to_pixels):
        import h5py
        self.path, self.file, self.to_pixels = path, None, to_pixels
        with h5py.File(path) as file:
            self.size = len(file["labels"])

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if self.file is None:
            import h5py
            self.file = h5py.File(self.path)
            self.data, self.labels = self.file["fields/jpg/data"], self.file["labels"]
            self.offsets = self.file["fields/jpg/offsets"][:]
        return self.to_pixels(self.data[self.offsets[i]:self.offsets[i + 1]].tobytes()), int(self.labels[i])


def samples_of(packs, kind, to_pixels):
    """Of bale's shards of one format, read by its own library."""
    import torch
    pattern, samples = {"lmdb": ("lmdb/*.lmdb", LmdbSamples), "hdf5": ("hdf5/*.h5", H5Samples)}[kind]
    shards = sorted(glob.glob(f"{packs}/{pattern}"))
    return torch.utils.data.ConcatDataset([samples(shard, to_pixels) for shard in shards])


def py_lmdb(folder, packs, workers):
    return torch_loader(samples_of(packs, "lmdb", ByPillow()), workers)


def py_lmdb_torchvision(folder, packs, workers):
    return torch_loader(samples_of(packs, "lmdb", ByTorchvision()), workers)


def h5py_pillow(folder, packs, workers):
    return torch_loader(samples_of(packs, "hdf5", ByPillow()), workers)


def h5py_torchvision(folder, packs, workers):
    return torch_loader(samples_of(packs, "hdf5", ByTorchvision()), workers)


def webdataset_pillow(folder, packs, workers):
    import webdataset
    dataset = webdataset.WebDataset(sorted(glob.glob(f"{packs}/tar/*.tar")), shardshuffle=100, empty_check=False)
    dataset = dataset.shuffle(1000).to_tuple("jpg", "cls")
    dataset = dataset.map_tuple(ByPillow(), int).batched(BATCH)
    return Images(webdataset.WebLoader(dataset, batch_size=None, num_workers=workers, persistent_workers=workers > 0,
                                       prefetch_factor=PREFETCH if workers else None))


def dali_crop_and_flip(stored):
    """Within a pipeline."""
    from nvidia.dali import fn, types
    images = fn.decoders.image_random_crop(stored, device="cpu", output_type=types.RGB)
    images = fn.resize(images, size=(SIDE, SIDE), antialias=True, interp_type=types.INTERP_LINEAR)
    return fn.flip(images, horizontal=fn.random.coin_flip())


class Dali:
    def __init__(self, workers, reader, images_of=dali_crop_and_flip):
        from nvidia.dali import fn, pipeline_def

        @pipeline_def(batch_size=BATCH, num_threads=workers, device_id=None, prefetch_queue_depth=2)
        def pipeline():
            stored, labels = reader(fn)
            return images_of(stored), labels

        self.pipeline = pipeline()
        self.pipeline.build()
        self.batches = -(-sum(self.pipeline.epoch_size().values()) // BATCH)

    def __iter__(self):
        import numpy
        for _ in range(self.batches):  # the last one is filled up with images of the next epoch, and counts as it is
            yield numpy.asarray(self.pipeline.run()[0].as_tensor())


def dali_file(folder, packs, workers):
    return Dali(workers, lambda fn: fn.readers.file(file_root=folder, random_shuffle=True, name="reader"))


def dali_webdataset(folder, packs, workers):
    shards = sorted(glob.glob(f"{packs}/tar/*.tar"))
    return Dali(workers, lambda fn: fn.readers.webdataset(paths=shards, ext=["jpg", "cls"], random_shuffle=True,
                                                          name="reader"))


def ffcv_loader(beton, workers):
    os.environ["NUMBA_NUM_THREADS"] = str(max(workers, os.cpu_count()))  # it takes no more than this
    from ffcv.fields.decoders import IntDecoder
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import RandomHorizontalFlip, ToTensor
    return Images(Loader(beton, BATCH, num_workers=workers, order=OrderOption.RANDOM, drop_last=False, os_cache=True,
                         pipelines={"image": [RandomResizedCropRGBImageDecoder((SIDE, SIDE)), RandomHorizontalFlip(),
                                              ToTensor()],
                                    "label": [IntDecoder(), ToTensor()]}))


def ffcv_original(folder, packs, workers):
    return ffcv_loader(f"{packs}/ffcv/images.beton", workers)


def ffcv_reencoded(folder, packs, workers):
    return ffcv_loader(f"{packs}/ffcv-reencoded/images.beton", workers)


# --- packs that no other tool writes

def encode_original(self, destination, path, malloc):
    """FFCV re-encodes every image; this stores the file's own bytes, which its reader decodes just as well."""
    import numpy
    from ffcv.fields.rgb_image import IMAGE_MODES
    from PIL import Image
    stored = pathlib.Path(path).read_bytes()
    destination["mode"] = IMAGE_MODES["jpg"]
    destination["width"], destination["height"] = Image.open(io.BytesIO(stored)).size
    destination["data_ptr"], storage = malloc(len(stored))
    storage[:] = numpy.frombuffer(stored, numpy.uint8)


def write_beton(folder, directory, original):
    import multiprocessing

    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter
    from torchvision.datasets import ImageFolder
    multiprocessing.set_start_method("fork", force=True)  # what is replaced here holds in the writers too
    if original:
        RGBImageField.encode = encode_original
    directory.mkdir(parents=True, exist_ok=True)
    writer = DatasetWriter(str(directory / "images.beton"), {"image": RGBImageField("jpg"), "label": IntField()},
                           num_workers=os.cpu_count())
    writer.from_indexed_dataset(ImageFolder(folder, loader=str) if original else ImageFolder(folder))


def make_ffcv_original(folder, packs):
    write_beton(folder, pathlib.Path(packs) / "ffcv", True)


def make_ffcv_reencoded(folder, packs):
    write_beton(folder, pathlib.Path(packs) / "ffcv-reencoded", False)


CONTENDERS = {  # name: (pipeline, modules it needs, what makes its pack)
    "imagefolder": (imagefolder_pillow, ["torch", "torchvision", "PIL"], None),
    "torchvision": (torchvision_decode, ["torch", "torchvision"], None),
    "py-lmdb": (py_lmdb, ["torch", "torchvision", "PIL", "lmdb"], None),
    "py-lmdb-torchvision": (py_lmdb_torchvision, ["torch", "torchvision", "lmdb"], None),
    "h5py": (h5py_pillow, ["torch", "torchvision", "PIL", "h5py"], None),
    "h5py-torchvision": (h5py_torchvision, ["torch", "torchvision", "h5py"], None),
    "webdataset": (webdataset_pillow, ["torch", "torchvision", "PIL", "webdataset"], None),
    "dali-file": (dali_file, ["nvidia.dali"], None),
    "dali-webdataset": (dali_webdataset, ["nvidia.dali"], None),
    "ffcv": (ffcv_original, ["torch", "torchvision", "PIL", "ffcv"], make_ffcv_original),
    "ffcv-reencoded": (ffcv_reencoded, ["torch", "torchvision", "PIL", "ffcv"], make_ffcv_reencoded),
}


# --- what this process and its children take

def processes():
    """This one and all that descend from it."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    family = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        if not more:
            return family
        family |= more


def cpu_seconds():
    """User and system time of the processes, of children that they have waited for too."""
    ticks = 0
    for pid in processes():
        try:
            with open(f"/proc/{pid}/stat") as file:
                ticks += sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:15])
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_megabytes():
    """Anonymous and shared memory; pages of mapped files are the kernel's to take back and do not count."""
    total = 0
    for pid in processes():
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        except OSError:
            pass
    return total * 1024 / 1e6


def touch(batch):
    """Some bytes of every image, whatever the order of its dimensions in memory."""
    return int(batch[:, ::32, ::32].sum())


def measure(pipeline, folder, packs, workers):
    began = float(os.environ.get("BENCH_STARTED", time.time()))  # before this process was
    loader = pipeline(folder, packs, workers)
    first = None
    checksum = 0
    for batch in loader:
        checksum += touch(batch)
        if first is None:
            first = time.time() - began
    images, cpu, start = 0, cpu_seconds(), time.monotonic()
    for batch in loader:
        checksum += touch(batch)
        images += batch.shape[0]
    seconds, cpu = time.monotonic() - start, cpu_seconds() - cpu
    memory, looked = pss_megabytes(), 0
    for batch in loader:
        touch(batch)
        memory, looked = max(memory, pss_megabytes()), looked + 1
        if looked == 3 * PREFETCH:
            break
    return {"images": images, "seconds": seconds, "images_per_s": images / seconds, "first_batch_s": first,
            "cpu_s_per_1000": cpu / images * 1000, "pss_mb": memory, "checksum": checksum}


def main():
    if sys.argv[1:] == ["--list"]:
        missing = {name: [m for m in modules if importlib.util.find_spec(m.split(".")[0]) is None]
                   for name, (_, modules, _) in CONTENDERS.items()}
        print(json.dumps({name: {"missing": missing[name], "packs": CONTENDERS[name][2] is not None}
                          for name in CONTENDERS}))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=list(CONTENDERS))
    parser.add_argument("folder")
    parser.add_argument("packs")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--make", action="store_true")
    args = parser.parse_args()
    if args.make:
        CONTENDERS[args.name][2](args.folder, args.packs)
        return 0
    print(json.dumps(measure(CONTENDERS[args.name][0], args.folder, args.packs, args.workers)), flush=True)
    os._exit(0)  # some peers hang, or complain, when they are torn down in the middle of an epoch


if __name__ == "__main__":
    sys.exit(main())

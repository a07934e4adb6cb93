#!/usr/bin/env python3
"""What a dataset of up to 10^9 images costs on up to 10^4 ranks: measured where it can be, extrapolated where it says so.

    simulate_scale.py generate WORK [--shards 10000] [--samples 10000]   # one real shard, and as many copies of its index
    simulate_scale.py open WORK            # manifests of 10^3 to 10^6 shards: bytes, time and memory to open
    simulate_scale.py layers WORK          # 10^5 shards without and with layers: 10^7 removed samples, labels of as many, fields of all
    simulate_scale.py first-batch WORK     # the generated dataset: time from process start, memory of each process
    simulate_scale.py order                # positions per second and memory of the orders, up to 10^9 samples and 10^4 ranks
    simulate_scale.py shuffle              # how well each shuffle mixes a dataset that is sorted by class
    simulate_scale.py store                # requests per second, bytes and money, from the numbers in the options

`generate` makes no payloads: the shards are links to the one real shard, whose index is copied for each of them, so that indexes take
the disk, page cache and memory that they would. 10^4 shards of 10^4 samples take 6 GB of disk. Each measurement is a process of its
own. Times are processor time of one process if they say cpu, else elapsed time of the machine with whatever else it does. Needs the
built Python package (PYTHONPATH=build/python) and, for `generate`, Pillow; `layers` needs xxhash and google-crc32c.
"""
import argparse
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

MIB = 2**20


# --- data

def generate(work, shards, samples):
    from PIL import Image

    import bale
    folder = work / "dataset"
    if (folder / "manifest.json").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    images = []
    for number in range(64):
        file = io.BytesIO()
        Image.frombytes("RGB", (4, 4), random.Random(number).randbytes(48)).resize((256, 256)).save(file, "JPEG")
        images.append(file.getvalue())
    one = work / "one"
    shutil.rmtree(one, ignore_errors=True)
    with bale.Writer(one, classes=["a", "b"], shard_samples=samples) as writer:
        for number in range(samples):
            writer.add(f"{number:09d}", {"jpg": images[number % 64]}, label=number % 2)
    manifest = json.loads((one / "manifest.json").read_text())
    [real] = manifest["shards"]
    folder.mkdir()
    for number in range(shards):
        name = f"train-{number:06d}.tar"
        (folder / name).symlink_to(one / real["file"])
        shutil.copyfile(one / f"{real['file']}.bidx", folder / f"{name}.bidx")
    (folder / "manifest.json").write_text(manifest_of(manifest, shards))


def manifest_of(manifest, shards, invented=False):
    """The text of a manifest of many shards. Without a checksum, as an edited one. `invented`: each shard has its own digest."""
    [real] = manifest["shards"]
    rng = random.Random(1)
    entries = [{**real, "file": f"train-{number:06d}.tar",
                **({"digest": f"xxh3:{rng.getrandbits(128):032x}"} if invented else {})} for number in range(shards)]
    changed = {**manifest, "num_samples": real["num_samples"] * shards, "shards": entries}
    changed["fields"] = [{**field, "stored_bytes": field["stored_bytes"] * shards} for field in manifest["fields"]]
    changed.pop("checksum", None)
    return json.dumps(changed, indent=1) + "\n"


def seal(text):
    """With the checksum that bale writes, if xxhash is installed: comparing it is a part of opening."""
    try:
        import xxhash
    except ImportError:
        return text
    body = text[:-3]  # without "\n}\n"
    return f'{body},\n "checksum": "xxh3:{xxhash.xxh3_128_hexdigest(body.encode())}"\n}}\n'


# --- measuring

def memory_of(pid="self"):
    """MiB: resident, private, and private plus the process's share of shared pages; ring: resident memory of memfds."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        found[name.rstrip(":")] = int(value) / 1024
    ring = index = 0.0
    what = ""
    peak = next(line.split()[1] for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first, *more = line.split()
        if "-" in first and not first.endswith(":"):
            what = " ".join(more[4:])
        elif first == "Rss:":
            ring += int(more[0]) / 1024 if "memfd:" in what else 0
            index += int(more[0]) / 1024 if what.endswith(".bidx") else 0
    return {"rss": found["Rss"], "pss": found["Pss"], "private": found["Private_Clean"] + found["Private_Dirty"],
            "anonymous": found["Anonymous"], "peak": int(peak) / 1024, "ring": ring, "index": index}


def children():
    return [int(pid) for thread in os.listdir("/proc/self/task")
            for pid in pathlib.Path(f"/proc/self/task/{thread}/children").read_text().split()]


def in_a_process(command, *args):
    """What the measurement printed, as JSON."""
    done = subprocess.run([sys.executable, __file__, command, *map(str, args)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def measure_open(folder):
    before_cpu, before = time.process_time(), time.monotonic()
    import bale
    imported, base = time.process_time(), memory_of()["anonymous"]
    dataset = bale.Dataset(folder)
    size = len(dataset)
    opened = time.process_time()
    if (pathlib.Path(folder) / "train-000000.tar").exists():
        dataset.label(0)  # reads the layers
    print(json.dumps({"size": size, "import_cpu_s": imported - before_cpu, "cpu_s": opened - imported, "s": time.monotonic() - before,
                      "first_cpu_s": time.process_time() - opened, "mib": memory_of()["anonymous"] - base,
                      "peak_mib": memory_of()["peak"]}))


def open_table(work):
    manifest = json.loads((work / "one" / "manifest.json").read_text())
    print("   shards     manifest      open, cpu       memory     most of the process")
    for shards in (1_000, 10_000, 100_000, 1_000_000):
        folder = work / f"manifest-{shards}"
        folder.mkdir(exist_ok=True)
        text = seal(manifest_of(manifest, shards, invented=True))
        (folder / "manifest.json").write_text(text)
        found = [in_a_process("measure-open", folder) for _ in range(3)]
        best = min(found, key=lambda one: one["cpu_s"])
        print(f"{shards:>9,} {len(text) / MIB:8.1f} MiB {best['cpu_s']:9.3f} s {best['mib']:8.0f} MiB {best['peak_mib']:8.0f} MiB",
              flush=True)


def add_layer(folder, manifest, kind, rows_per_shard, labels=None):
    """A layer (formats/shard/LAYER.md) of so many rows of each shard: those numbered 100 times 0, 1, 2, ..."""
    import struct

    import google_crc32c
    import numpy as np
    import xxhash
    digests = sorted({shard["digest"].partition(":")[2] for shard in manifest["shards"]})
    count = len(digests) * rows_per_shard
    rows = np.tile(np.arange(rows_per_shard, dtype="<u4") * 100, len(digests))
    shards = b"".join(bytes.fromhex(digest) + struct.pack("<Q", (number + 1) * rows_per_shard) for number, digest in enumerate(digests))
    body = shards + rows.tobytes() + (b"" if labels is None else np.full(count, labels, "<i8").tobytes())
    head = struct.pack("<8sIIQQQI", b"BALELAY", 1, 1 if labels is None else 2, len(digests), count, 48 + len(body), google_crc32c.value(body))
    content = head + struct.pack("<I", google_crc32c.value(head)) + body
    digest = xxhash.xxh3_128_hexdigest(content)
    (folder / "layers").mkdir(exist_ok=True)
    (folder / "layers" / f"{digest}.blay").write_bytes(content)
    manifest.setdefault("layers", []).append({"kind": kind, "num_rows": count, "bytes": len(content), "digest": f"xxh3:{digest}"})
    manifest["bale_manifest"] = 2
    if kind == "removed":
        manifest["num_samples"] -= rows_per_shard * len(manifest["shards"])
        for shard in manifest["shards"]:
            shard.update(num_samples=shard["num_samples"] - rows_per_shard, num_removed=rows_per_shard)


def add_field(folder, manifest, name, prefix, value, samples, invented):
    """A layer of a field in which every sample of each shard has the same value. `invented`: rows and values are holes in the file, whose
    head is as it would be; only the rows of the first shard are written."""
    import struct

    import google_crc32c
    import numpy as np
    import xxhash
    digests = sorted({shard["digest"].partition(":")[2] for shard in manifest["shards"]})
    rows = np.empty(samples, [("row", "<u4"), ("bytes", "<u4"), ("crc32c", "<u4")])
    rows["row"], rows["bytes"], rows["crc32c"] = np.arange(samples), len(value), google_crc32c.value(prefix + value)
    rows, values = rows.tobytes(), value * samples
    same = xxhash.xxh3_128_digest(rows) + xxhash.xxh3_128_digest(values)
    body = struct.pack("<II", len(name), len(prefix)) + name.encode() + prefix + b"".join(
        bytes.fromhex(digest) + same + struct.pack("<QQ", number * samples, number * len(values)) for number, digest in enumerate(digests, 1))
    size = 48 + len(body) + len(digests) * (len(rows) + len(values))
    head = struct.pack("<8sIIQQQI", b"BALELAY", 1, 3, len(digests), len(digests) * samples, size, google_crc32c.value(body))
    head += struct.pack("<I", google_crc32c.value(head)) + body
    digest = xxhash.xxh3_128_hexdigest(head)
    with open(folder / "layers" / f"{digest}.blay", "wb") as file:
        file.write(head if invented else head + rows * len(digests) + values * len(digests))
        file.truncate(size)
        if invented:
            file.seek(len(head) + digests.index(manifest["shards"][0]["digest"].partition(":")[2]) * len(rows))
            file.write(rows)
    manifest["layers"].append({"kind": f"field {name}", "num_rows": len(digests) * samples, "bytes": size, "digest": f"xxh3:{digest}"})
    manifest["fields"].append({**manifest["fields"][0], "name": name, "stored_bytes": 0})


FIELDS = (("split.txt", b"", b"train"), ("aesthetic.txt", b"", b"5.625"),
          ("clip.npy", b"\x93NUMPY\x01\0\x76\0" + b"{'descr': '<f2', 'fortran_order': False, 'shape': (512,), }".ljust(117) + b"\n", bytes(1024)))
REMOVED, LABELS = ("removed", None), (("label", 1), ("label", 0), ("label", 1))
LAYERS = {"none": (), "10^7 removed": (REMOVED,), "10^7 removed, 10^7 labels": (REMOVED, LABELS[0]),
          "10^7 removed, 3 x 10^7 labels": (REMOVED, *LABELS), "10^7 removed, 3 fields of all": (REMOVED, *FIELDS),
          "10^7 removed, labels, fields": (REMOVED, LABELS[0], *FIELDS)}


def add_layers(folder, manifest, layers, samples, invented):
    for one in layers:
        if len(one) == 2:
            add_layer(folder, manifest, one[0], 100, one[1])
        else:
            add_field(folder, manifest, *one, samples, invented)
    (folder / "manifest.json").write_text(seal(json.dumps(manifest, indent=1) + "\n"))


def link_shard(work, real, folder, shard):
    for suffix in ("", ".bidx"):
        (folder / (shard["file"] + suffix)).symlink_to(work / "one" / (real["shards"][0]["file"] + suffix))


def layers_table(work):
    real = json.loads((work / "one" / "manifest.json").read_text())
    print("layers of 10^5 shards                  files       open, cpu   first sample, cpu   memory     most of the process")
    samples = real["num_samples"]
    for number, (name, layers) in enumerate(LAYERS.items()):
        folder = work / "layers" / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        manifest = json.loads(manifest_of(real, 100_000, invented=True))
        link_shard(work, real, folder, manifest["shards"][0])
        manifest["shards"][0]["digest"] = real["shards"][0]["digest"]
        add_layers(folder, manifest, layers, samples, invented=True)
        best = min((in_a_process("measure-open", folder) for _ in range(3)), key=lambda one: one["cpu_s"])
        files = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
        print(f"{name:<32} {files / MIB:8.1f} MiB {best['cpu_s']:9.3f} s {best['first_cpu_s']:15.3f} s {best['mib']:8.0f} MiB "
              f"{best['peak_mib']:8.0f} MiB", flush=True)

    print("1,000 shards that exist                shard opened    position later    anonymous memory")
    for number, (name, layers) in enumerate(LAYERS.items()):
        folder = work / "layers" / f"real-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        manifest = json.loads(manifest_of(real, 1_000))
        for shard in manifest["shards"]:
            link_shard(work, real, folder, shard)
        add_layers(folder, manifest, layers, samples, invented=False)
        best = min((in_a_process("measure-positions", folder) for _ in range(3)), key=lambda one: one["opened_us"])
        print(f"{name:<32} {best['opened_us']:12.0f} us {best['position_us']:12.2f} us {best['mib']:12.0f} MiB", flush=True)


def measure_positions(folder):
    import bale
    dataset = bale.Dataset(folder)
    samples, base = len(dataset) // 1_000, memory_of()["anonymous"]
    begun = time.process_time()
    for shard in range(200):
        dataset.label(shard * samples)
    opened, begun = time.process_time() - begun, time.process_time()
    for i in range(100_000):
        dataset.label(i * 7919 % 20 * samples + i * 31 % samples)  # of shards whose indexes are kept
    print(json.dumps({"opened_us": opened / 200 * 1e6, "position_us": (time.process_time() - begun) / 0.1, "mib": memory_of()["anonymous"] - base}))


def forget(folder):
    """Asks the kernel to drop the generated files from the page cache."""
    for path in folder.iterdir():
        if not path.is_symlink():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def measure_first_batch(folder, shuffle, batches):
    begun = float(os.environ["BALE_BEGUN"])
    import bale
    imported = time.monotonic() - begun
    options = {"ranks_per_node": 8, "world_size": 64} if shuffle == "node-local" else {}
    with bale.Loader(folder, 256, workers=2, transform=bale.transforms.train(224), seed=1,
                     shuffle={"full": True, "none": False}.get(shuffle, shuffle), **options) as loader:
        opened = time.monotonic() - begun
        batch = next(iter(loader))
        first = time.monotonic() - begun
        del batch
        for number, _ in enumerate(loader):
            if number + 1 >= batches:
                break
        print(json.dumps({"import_s": imported, "open_s": opened, "first_batch_s": first, "loader": memory_of(),
                          "workers": [memory_of(pid) for pid in children()], "cpu_s": time.process_time()}))


def first_batch_table(work, batches):
    folder = work / "dataset"
    shards = json.loads((folder / "manifest.json").read_text())["shards"]
    print(f"{len(shards):,} shards, {sum(shard['num_samples'] for shard in shards):,} samples, 2 workers; memory after {batches} batches")
    for shuffle in ("none", "block", "full", "node-local"):
        for cold in (True, False):
            if cold:
                forget(folder)
            os.environ["BALE_BEGUN"] = str(time.monotonic())
            found = in_a_process("measure-first-batch", folder, shuffle, batches)
            worker = max(found["workers"], key=lambda one: one["rss"] - one["ring"])
            print(f"{shuffle:>10} {'cold' if cold else 'warm'}: import {found['import_s']:.2f} s, loader made {found['open_s']:.2f} s, "
                  f"first batch {found['first_batch_s']:.2f} s; cpu of the loader {found['cpu_s']:.2f} s")
            for what, of in (("loader", found["loader"]), ("worker", worker)):
                print(f"{'':>12}{what}: resident {of['rss'] - of['ring']:.0f} MiB beside the ring, of them indexes {of['index']:.0f}; "
                      f"anonymous {of['anonymous']:.0f}, proportional {of['pss'] - of['ring']:.0f}", flush=True)


# --- orders

def orders(samples, nodes, ranks_per_node, shards):
    """{name: order}."""
    import numpy as np

    from bale import _bale
    everything = _bale.Selection.all(samples)
    ends = np.linspace(samples / shards, samples, shards).round().astype("uint64")
    return {"full": _bale.EpochOrder(everything, "full", 64, 16, 1),
            "block": _bale.EpochOrder(everything, "block", 64, 16, 1),
            "node-local": _bale.EpochOrder.node_local(everything, ends, nodes, ranks_per_node, 1)}


def order_table():
    from bale import _bale
    print("samples        ranks   order        positions/s    memory")
    for samples, nodes, shards in ((10**6, 16, 100), (10**8, 1_250, 10**4), (10**9, 1_250, 10**5)):
        before = memory_of()["anonymous"]
        for name, order in orders(samples, nodes, 8, shards).items():
            plan = _bale.RankPlan(samples, 0, 32, 5, nodes * 8, "pad")
            begun, asked = time.process_time(), 50_000
            for i in range(asked):
                order.sample(3, plan.row(i // 32 % (plan.num_batches - 1), i % 32))
            cpu = time.process_time() - begun
            print(f"{samples:>13,} {nodes * 8:>7,}   {name:<11} {asked / cpu:>11,.0f}    "
                  f"{memory_of()['anonymous'] - before:.1f} MiB together", flush=True)


def shuffle_table():
    """A dataset that is sorted by class: 1,000 classes of 1,000 samples, 100 shards, 8 nodes of 8 ranks, batches of 32 per rank."""
    import numpy as np
    samples, classes, nodes, ranks, batch, shards = 10**6, 1_000, 8, 8, 32, 100
    step = nodes * ranks * batch
    rng = np.random.default_rng(1)
    print("a dataset sorted by class                          classes in a    of an ideal    a node's classes   same node twice")
    print("                                                   step of 2,048   draw           in an epoch        in a row")
    ideal = np.mean([len(np.unique(rng.permutation(samples)[:step] // (samples // classes))) for _ in range(5)])
    shuffled_once = rng.permutation(samples)
    for stored, class_of in (("sorted by class", lambda i: i // (samples // classes)),
                             ("packed with --shuffle", lambda i: shuffled_once[i] // (samples // classes))):
        for name, order in orders(samples, nodes, ranks, shards).items():
            epochs = [np.array([order.sample(epoch, position) for position in range(0, 40 * step)]) for epoch in (0, 1)]
            kinds = [class_of(of_epoch.reshape(40, step)) for of_epoch in epochs]
            in_step = np.mean([len(np.unique(row)) for row in kinds[0]])
            whole = np.array([order.sample(0, position) for position in range(samples)])
            node_of = np.empty(samples, int)
            node_of[whole] = np.arange(samples) % (nodes * ranks) // ranks
            again = np.empty(samples, int)
            again[np.array([order.sample(1, position) for position in range(samples)])] = node_of[whole]
            of_node = np.mean([len(np.unique(class_of(whole[node_of[whole] == node]))) for node in range(nodes)])
            print(f"{stored + ', ' + name:<50} {in_step:>8.0f} {in_step / ideal:>14.1%} {of_node:>14.0f} "
                  f"{np.mean(again == node_of):>18.1%}", flush=True)


# --- the store

def store_table(images, image_bytes, ranks, ranks_per_node, images_per_second, range_bytes, epochs, cache, price, egress):
    nodes, total = ranks // ranks_per_node, images * image_bytes
    demand = ranks * images_per_second
    epoch_s = images / demand
    print(f"{images:,} images of {image_bytes / 1000:.0f} kB ({total / 1e12:.0f} TB), {ranks:,} ranks on {nodes:,} nodes, "
          f"{images_per_second} images per second and rank: an epoch takes {epoch_s / 60:.1f} min and {demand * image_bytes / 1e9:,.0f} GB/s")
    print(f"a node reads {images / nodes:,.0f} images, {total / nodes / 1e9:.0f} GB per epoch; its cache holds {cache / 1e9:.0f} GB")
    print("                                        requests/epoch   requests/s   GB/s from the store   cost of requests   later epochs")
    held = min(1.0, cache / total)
    rows = (("full shuffle, one request per image", images, 1.0, 1 - held),
            (f"full shuffle, ranges of {range_bytes / MIB:.0f} MiB", nodes * min(total / range_bytes, images / nodes), 1.0, 1 - held),
            (f"block shuffle, ranges of {64 * image_bytes / MIB:.1f} MiB", total / (64 * image_bytes), 1.0, 1 - held),
            (f"node-local, ranges of {range_bytes / MIB:.0f} MiB", total / range_bytes, 1.0, max(0.0, 1 - cache * nodes / total)))
    for name, requests, share, later in rows:
        cost = requests * (1 + (epochs - 1) * later) * price / 1000
        print(f"{name:<38} {requests:>15,.0f} {requests / epoch_s:>12,.0f} {total * share / epoch_s / 1e9:>17,.0f} "
              f"{cost:>18,.0f} USD {later:>13.0%} of it")
    if egress:
        print(f"bytes leave the region for {egress} USD per GB: {total / 1e9 * egress:,.0f} USD per epoch from the store")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("generate", "open", "layers", "first-batch"):
        command = commands.add_parser(name)
        command.add_argument("work", type=pathlib.Path)
        if name == "generate":
            command.add_argument("--shards", type=int, default=10_000)
            command.add_argument("--samples", type=int, default=10_000)
        if name == "first-batch":
            command.add_argument("--batches", type=int, default=20)
    commands.add_parser("order")
    commands.add_parser("shuffle")
    store = commands.add_parser("store")
    for name, default in (("images", 10**9), ("image-bytes", 110_000), ("ranks", 10_000), ("ranks-per-node", 8),
                          ("images-per-second", 500), ("range-bytes", 8 * MIB), ("epochs", 10), ("cache", 10**12)):
        store.add_argument(f"--{name}", type=int, default=default)
    store.add_argument("--price", type=float, default=0.0004, help="USD per 1,000 requests (default: S3 Standard's list price)")
    store.add_argument("--egress", type=float, default=0.0, help="USD per GB that leaves the store's region (default: 0)")
    for name in ("measure-open", "measure-positions", "measure-first-batch"):
        commands.add_parser(name).add_argument("args", nargs="+")
    options = parser.parse_args()
    if options.command == "generate":
        options.work.mkdir(parents=True, exist_ok=True)
        generate(options.work.resolve(), options.shards, options.samples)
    elif options.command == "open":
        open_table(options.work.resolve())
    elif options.command == "layers":
        layers_table(options.work.resolve())
    elif options.command == "measure-positions":
        measure_positions(options.args[0])
    elif options.command == "first-batch":
        first_batch_table(options.work.resolve(), options.batches)
    elif options.command == "measure-open":
        measure_open(options.args[0])
    elif options.command == "measure-first-batch":
        measure_first_batch(options.args[0], options.args[1], int(options.args[2]))
    elif options.command == "order":
        order_table()
    elif options.command == "shuffle":
        shuffle_table()
    else:
        values = {name: value for name, value in vars(options).items() if name != "command"}
        store_table(**values)


if __name__ == "__main__":
    main()

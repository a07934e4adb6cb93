"""The part of gpu_acceptance.py that trains: ResNet-50 in bf16, channels_last, fed by bale, by DataLoader and by DALI, and by one
batch that is on the GPU from the beginning."""
import threading
import time

try:
    import torch
except ImportError:
    torch = None

WARM_UP_S, MEASURED_S, LONG_S = 5.0, 20.0, 60.0


class Utilization:
    """The share of samples in which the GPU ran a kernel, by NVML; None without nvidia-ml-py."""

    def __enter__(self):
        self.value, self._seen, self._stop = None, [], threading.Event()
        try:
            import pynvml
            pynvml.nvmlInit()
            handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        except Exception:  # noqa: BLE001 - optional
            self._thread = None
            return self

        def sample():
            while not self._stop.wait(0.2):
                self._seen.append(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
        self._thread = threading.Thread(target=sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        if self._thread:
            self._thread.join()
            self.value = sum(self._seen) / len(self._seen) if self._seen else None


class Step:
    def __init__(self):
        import torchvision
        torch.backends.cudnn.benchmark = True
        self.model = torchvision.models.resnet50(num_classes=1000).cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)

    def __call__(self, images, labels):
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def images_per_s(step, batches, seconds=MEASURED_S):
    """`batches`: an endless iterator of (images, labels) on the GPU. Returns images per second and utilization."""
    end = time.monotonic() + WARM_UP_S
    while time.monotonic() < end:
        step(*next(batches))
        torch.cuda.synchronize()
    seen, begin = 0, time.monotonic()
    with Utilization() as utilization:
        while time.monotonic() - begin < seconds:
            images, labels = next(batches)
            step(images, labels)
            seen += len(labels)
        torch.cuda.synchronize()
    return seen / (time.monotonic() - begin), utilization.value


def row(loader, workers, batches, seconds=MEASURED_S):
    speed, busy = images_per_s(Step(), batches, seconds)
    torch.cuda.empty_cache()
    return {"loader": loader, "workers": workers, "images_per_s": speed, "utilization": busy}


def resident_step(batch):
    """(milliseconds per step, its row)."""
    images = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device="cuda")

    def forever():
        while True:
            yield images, labels
    found = row("resident batch", None, forever())
    return 1000 * batch / found["images_per_s"], found


def endless(epoch):
    while True:
        yield from epoch()


def bale_batches(spec, batch, workers, decode="host"):
    import bale
    import bale.torch as bt
    loader = bt.Loader(str(spec), batch, workers=workers, seed=1, drop_last=True, device=bale.Cuda(decode=decode),
                       transform=bale.transforms.train(224, dtype="bfloat16", normalize=True))
    return endless(lambda: iter(loader))


def device_decoded_batches(spec, batch, workers):
    return bale_batches(spec, batch, workers, "device")


def folder_batches(images, batch, workers):
    from torchvision import datasets
    from torchvision import transforms as V
    pipeline = V.Compose([V.RandomResizedCrop(224), V.RandomHorizontalFlip(), V.ToTensor(),
                          V.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    loader = torch.utils.data.DataLoader(datasets.ImageFolder(str(images), pipeline), batch, shuffle=True, drop_last=True,
                                         num_workers=workers, pin_memory=True, persistent_workers=True)

    def epoch():
        for pixels, labels in loader:
            yield (pixels.cuda(non_blocking=True).to(memory_format=torch.channels_last), labels.cuda(non_blocking=True))
    return endless(epoch)


def dali_batches(images, batch, workers):
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    @pipeline_def(batch_size=batch, num_threads=workers, device_id=torch.cuda.current_device())
    def pipeline():
        encoded, labels = fn.readers.file(file_root=str(images), random_shuffle=True, name="reader")
        decoded = fn.decoders.image_random_crop(encoded, device="mixed")
        resized = fn.resize(decoded, resize_x=224, resize_y=224)
        return fn.crop_mirror_normalize(resized, dtype=types.FLOAT, output_layout="CHW", mirror=fn.random.coin_flip(),
                                        mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375]), labels.gpu()
    made = pipeline()
    made.build()
    iterator = DALIGenericIterator([made], ["images", "labels"], reader_name="reader", auto_reset=True, last_batch_policy=LastBatchPolicy.DROP)

    def epoch():
        for (data,) in iterator:
            yield data["images"].to(memory_format=torch.channels_last), data["labels"].flatten().long()
    return endless(epoch)


def loaders(spec, images, batch, workers, seconds_left):
    """Rows of all loaders, as long as there is time."""
    wanted = [("bale", number, bale_batches, spec) for number in workers]
    wanted += [("bale, decode=\"device\"", number, device_decoded_batches, spec) for number in (workers[0], workers[-1])]
    wanted += [("DataLoader + ImageFolder", workers[-1], folder_batches, images), ("DALI, mixed", workers[-1], dali_batches, images)]
    rows = []
    for name, number, make, source in wanted:
        if seconds_left() < 2 * (WARM_UP_S + MEASURED_S):
            break
        # bale with the most workers for a minute: the share of it in which the GPU is busy is one of the aims.
        is_long = name == "bale" and number == workers[-1] and seconds_left() > 4 * LONG_S
        try:
            rows.append(row(name, number, make(source, batch, number), LONG_S if is_long else MEASURED_S))
        except ImportError:  # DALI is optional
            continue
    return rows

"""Recipes by DALI on the CPU, for bench_recipes_loaders.py: those that its library of augmentations has."""
import glob
import time

SIDES = {"crop and flip": 224, "reference V2": 176, "RandAugment": 224}
PREFETCH = 2


def augmented(recipe, images):
    """Within a pipeline with conditionals."""
    from nvidia.dali.auto_aug import rand_augment, trivial_augment
    if recipe == "reference V2":
        return trivial_augment.trivial_augment_wide(images, fill_value=0)
    if recipe == "RandAugment":
        return rand_augment.rand_augment(images, n=2, m=9, fill_value=0)
    return images


def erased(floats, probability):
    """A rectangle of about the sizes of RandomErasing's becomes zeros. Sides are drawn apart."""
    from nvidia.dali import fn
    if probability == 0:
        return floats
    side = fn.random.uniform(range=(0.14, 0.57), shape=(2,))
    side = side * fn.cast_like(fn.random.coin_flip(probability=probability), side)  # else an empty rectangle
    return fn.erase(floats, anchor=fn.random.uniform(range=(0.0, 0.86), shape=(2,)), shape=side, axis_names="HW",
                    normalized_anchor=True, normalized_shape=True)


class DaliLoader:
    """A turn is as many batches as it takes; DALI continues from epoch to epoch."""

    def __init__(self, recipe, pack, batch, workers, mean, std, erasing):
        from nvidia.dali import fn, pipeline_def, types
        side, shards = SIDES[recipe], sorted(glob.glob(f"{pack}/*.tar"))

        @pipeline_def(batch_size=batch, num_threads=workers, device_id=None, prefetch_queue_depth=PREFETCH,
                      enable_conditionals=True)
        def pipeline():
            stored = fn.readers.webdataset(paths=shards, ext=["jpg"], random_shuffle=True)
            images = fn.decoders.image_random_crop(stored, device="cpu", output_type=types.RGB)
            images = fn.resize(images, size=(side, side), antialias=True, interp_type=types.INTERP_LINEAR)
            images = augmented(recipe, fn.flip(images, horizontal=fn.random.coin_flip()))
            floats = fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mean=[255 * m for m in mean],
                                              std=[255 * s for s in std])
            return erased(floats, erasing)

        self.pipeline, self.batch = pipeline(), batch
        self.pipeline.build()

    def before_turn(self):
        """What was made ahead after the last turn does not count."""
        self.run(PREFETCH * self.batch)

    def after_turn(self, images_per_s):
        """Waits until it has worked ahead, lest it take time of the next one's turn."""
        time.sleep(1.5 * PREFETCH * self.batch / images_per_s)

    def run(self, rows):
        import numpy
        done, checksum = 0, 0.0
        while done < rows:
            images = numpy.asarray(self.pipeline.run()[0].as_tensor())
            checksum += float(images[:, 0, ::32, ::32].sum())
            done += len(images)
        return done

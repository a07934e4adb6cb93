"""Trains a small convolutional network in JAX; batches come by DLPack, on a CPU without a copy.

    python jax_epoch.py packs/train --epochs 10
"""
import argparse

import jax
import jax.numpy as jnp

import bale


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pack", help="packed images")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--size", type=int, default=64, help="side of the images in pixels (64)")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
    args = parser.parse_args()

    dataset = bale.Dataset(args.pack)
    with bale.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, drop_last=True,
                     transform=bale.transforms.train(args.size)) as loader:
        params = new_params(jax.random.PRNGKey(1), len(loader.dataset.classes))
        for epoch in range(args.epochs):
            losses = []
            for batch in loader:
                images = jax.dlpack.from_dlpack(batch)  # uint8, N x H x W x C; keeps the batch's slot
                loss, params = step(params, images, jnp.asarray(batch.labels, jnp.int32), args.lr)
                losses.append(float(loss))  # waits for the step: one that JAX has yet to make keeps its batch's slot
            print(f"epoch {epoch} steps {len(losses)} loss {sum(losses) / len(losses):.4f}", flush=True)


CHANNELS = [3, 16, 32, 64]


def new_params(key, num_classes):
    keys = jax.random.split(key, len(CHANNELS))
    kernels = [jax.random.normal(k, (3, 3, i, o)) * (2 / (9 * i)) ** 0.5
               for k, i, o in zip(keys, CHANNELS, CHANNELS[1:])]
    return {"kernels": kernels, "out": jax.random.normal(keys[-1], (CHANNELS[-1], num_classes)) * 0.01}


def loss_of(params, images, labels):
    x = images.astype(jnp.float32) / 127.5 - 1
    for kernel in params["kernels"]:
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    logs = jax.nn.log_softmax(x.mean((1, 2)) @ params["out"])
    return -jnp.take_along_axis(logs, labels[:, None], 1).mean()


@jax.jit
def step(params, images, labels, lr):
    loss, grads = jax.value_and_grad(loss_of)(params, images, labels)
    return loss, jax.tree_util.tree_map(lambda p, g: p - lr * g, params, grads)


if __name__ == "__main__":
    main()

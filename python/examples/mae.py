"""Trains a masked autoencoder: a transformer sees a quarter of an image's patches and draws the others.

    python mae.py packs/train
"""
import argparse

import torch
from torch import nn

import bale
import bale.torch as bt
from bale import transforms as T

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("train", help="packed images; their labels are not used")
parser.add_argument("--epochs", type=int, default=400)
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--size", type=int, default=224, help="side of the images in pixels (224)")
parser.add_argument("--patch", type=int, default=16, help="side of a patch in pixels (16)")
parser.add_argument("--width", type=int, default=384)
parser.add_argument("--layers", type=int, default=12)
parser.add_argument("--lr", type=float, default=1.5e-4)
parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Crop, flip and normalize. Halves travel to the device and become floats there.
dataset = bale.Dataset(args.train)
loader = bt.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                   transform=T.presets.mae(args.size, dtype="float16"))
loader = bt.Prefetcher(loader, device, dtype=torch.float32)


def blocks(layers):
    one = nn.TransformerEncoderLayer(args.width, args.width // 64 or 1, 4 * args.width, 0.0, "gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(one, layers, nn.LayerNorm(args.width))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        values, self.patches = 3 * args.patch**2, (args.size // args.patch) ** 2
        self.cut = nn.Unfold(args.patch, stride=args.patch)
        self.embed, self.predict = nn.Linear(values, args.width), nn.Linear(args.width, values)
        self.places = nn.Parameter(0.02 * torch.randn(self.patches, args.width))
        self.hidden = nn.Parameter(torch.zeros(args.width))
        self.encoder, self.decoder = blocks(args.layers), blocks(max(1, args.layers // 3))

    def forward(self, images):
        """The error of the hidden patches, each of which is normalized by itself."""
        patches = self.cut(images).transpose(1, 2)
        order = torch.rand(patches.shape[:2], device=images.device).argsort(1)
        seen, hidden = order.split([self.patches // 4, self.patches - self.patches // 4], dim=1)
        rows = torch.arange(len(images), device=images.device)[:, None]
        codes = self.encoder((self.embed(patches) + self.places)[rows, seen])
        whole = (self.hidden + self.places).repeat(len(images), 1, 1)
        whole[rows, seen] = codes + self.places[seen]
        target = patches[rows, hidden]
        variance, mean = torch.var_mean(target, dim=2, keepdim=True)
        return (self.predict(self.decoder(whole))[rows, hidden] - (target - mean) / (variance + 1e-6).sqrt()).square().mean()


model = Autoencoder().to(device)
optimizer = torch.optim.AdamW(model.parameters(), args.lr, betas=(0.9, 0.95), weight_decay=0.05)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))
for epoch in range(args.epochs):
    total = 0
    for images, _ in loader:
        loss = model(images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}", flush=True)
torch.save(model.encoder.state_dict(), "mae.pt")

"""Trains CLIP, small: images and their captions in one batch, each of which must find the other.

    bale pack captioned packs/captioned --pair jpg,txt     # a.jpg and a.txt make one sample
    python clip_captions.py packs/captioned
"""
import argparse

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

import bale
import bale.torch as bt
from bale import transforms as T

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("train", help="packed images with captions")
parser.add_argument("--caption", default="txt", help="field of the captions (txt)")
parser.add_argument("--model", default="resnet50", help="of torchvision, for the images (resnet50)")
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--size", type=int, default=224, help="side of the images in pixels (224)")
parser.add_argument("--length", type=int, default=77, help="bytes of a caption that are read (77)")
parser.add_argument("--width", type=int, default=256, help="of the common space (256)")
parser.add_argument("--lr", type=float, default=0.0005)
parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

dataset = bale.Dataset(args.train)
loader = bt.Loader(dataset, min(args.batch_size, len(dataset)), workers=args.workers, seed=1, drop_last=True, pin_memory=True,
                   fields={"caption": args.caption}, on_bad_sample="substitute",  # of image and caption together
                   transform=T.Compose([T.RandomResizedCrop(args.size, scale=(0.9, 1.0), interpolation="bicubic")]))
loader = bt.Prefetcher(loader, device, normalize=True)


def tokens_of(captions):
    """The bytes of each caption, padded with zeros: put your tokenizer here, which takes a list of str."""
    rows = [torch.tensor(list(caption.encode()[:args.length])) for caption in captions]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device, torch.int64)


class TextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(256, args.width, padding_idx=0)
        self.positions = nn.Parameter(torch.randn(args.length, args.width) / 100)
        layer = nn.TransformerEncoderLayer(args.width, 4, 2 * args.width, dropout=0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)

    def forward(self, tokens):
        return self.layers(self.embedding(tokens) + self.positions[:tokens.shape[1]]).mean(1)


images_to_features = torchvision.models.get_model(args.model, num_classes=args.width).to(device)
text_to_features = TextEncoder().to(device)
scale = nn.Parameter(torch.tensor(2.6593, device=device))  # log(1 / 0.07), as in the paper
parameters = [*images_to_features.parameters(), *text_to_features.parameters(), scale]
optimizer = torch.optim.AdamW(parameters, args.lr, weight_decay=0.1)

for epoch in range(args.epochs):
    total = 0
    for images, _, fields in loader:
        seen = F.normalize(images_to_features(images))
        read = F.normalize(text_to_features(tokens_of(fields["caption"])))
        similar = seen @ read.T * scale.exp()
        pairs = torch.arange(len(images), device=device)
        loss = (F.cross_entropy(similar, pairs) + F.cross_entropy(similar.T, pairs)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}", flush=True)
torch.save([images_to_features.state_dict(), text_to_features.state_dict()], "clip_captions.pt")

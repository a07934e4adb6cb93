"""Transforms of torchvision and timm, and what becomes of them."""

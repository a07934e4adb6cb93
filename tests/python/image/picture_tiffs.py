"""TIFFs of every kind that Pillow opens and bale decodes, each with a name. By Pillow, and byte by byte what it does not
write."""
import struct
import zlib

import numpy as np
from image_support import cmyk, encoded, picture
from picture_pixels import HEIGHT, WIDTH, noise, photo, wide
from PIL import Image

TYPES = {1: "B", 2: "c", 3: "H", 4: "I", 16: "Q", 8: "h"}


def tiff(tags, strips, *, order="<", big=False, offsets=273, counts=279):
    """One directory. `tags`: number -> (type, values)."""
    tags = dict(tags)
    at = 16 if big else 8
    places = []
    for strip in strips:
        places.append(at)
        at += len(strip)
    kind = 16 if big else 4
    tags[offsets] = (kind, places)
    tags[counts] = (kind, [len(strip) for strip in strips])
    room = 8 if big else 4
    entry_bytes = 20 if big else 12
    directory = at
    extra_at = at + (8 if big else 2) + entry_bytes * len(tags) + room
    entries, extra = b"", b""
    for number in sorted(tags):
        form, values = tags[number]
        packed = values if isinstance(values, bytes) else struct.pack(order + TYPES[form] * len(values), *values)
        entries += struct.pack(order + ("HHQ" if big else "HHI"), number, form, len(values))
        if len(packed) <= room:
            entries += packed.ljust(room, b"\0")
        else:
            entries += struct.pack(order + ("Q" if big else "I"), extra_at + len(extra))
            extra += packed + bytes(len(packed) % 2)
    head = b"II" if order == "<" else b"MM"
    head += struct.pack(order + "HHHQ", 43, 8, 0, directory) if big else struct.pack(order + "HI", 42, directory)
    return head + b"".join(strips) + struct.pack(order + ("Q" if big else "H"), len(tags)) + entries + bytes(room) + extra


def raster(bits, samples, *, photometric, form=1, extra=(), order="<", compression=1, rows=HEIGHT, separate=False,
           tile=None, fill=1, palette=False, orientation=None, more=None, data=None, big=False, predictor=1):
    """A TIFF of noise in any layout, as it is or deflated."""
    tags = {256: (4, [WIDTH]), 257: (4, [HEIGHT]), 258: (3, [bits] * samples), 259: (3, [compression]),
            262: (3, [photometric]), 277: (3, [samples])}
    if form != 1:
        tags[339] = (3, [form] * samples)
    if extra:
        tags[338] = (3, list(extra))
    if separate:
        tags[284] = (3, [2])
    if fill != 1:
        tags[266] = (3, [fill])
    if palette:
        tags[320] = (3, np.frombuffer(noise(6 << bits, bits), np.uint16).tolist())
    if orientation:
        tags[274] = (3, [orientation])
    if predictor != 1:
        tags[317] = (3, [predictor])
    tags.update(more or {})
    planes = samples if separate else 1
    width, height = (tile or (WIDTH, rows))
    across = -(-WIDTH // width)
    down = -(-HEIGHT // height)
    row_bytes = (width * (1 if separate else samples) * bits + 7) // 8
    strips = []
    for number in range(across * down * planes):
        left = height if tile else min(height, HEIGHT - number % down * height)
        body = data(row_bytes * left, number) if data else noise(row_bytes * left, number)
        strips.append(zlib.compress(body) if compression == 8 else body)
    if tile:
        tags.update({322: (4, [width]), 323: (4, [height])})
        return tiff(tags, strips, order=order, offsets=324, counts=325, big=big)
    tags[278] = (4, [rows])
    return tiff(tags, strips, order=order, big=big)


def floats(order):
    def data(length, seed):
        values = np.random.default_rng(seed).uniform(-50, 400, length // 4)
        return values.astype(order + "f4").tobytes()
    return data


def whole_numbers(order, bits, low, high):
    def data(length, seed):
        return np.random.default_rng(seed).integers(low, high, length * 8 // bits).astype(f"{order}i{bits // 8}").tobytes()
    return data


def tiffs():
    compressions = [None, "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "zstd"]
    for mode in ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK"):
        image = cmyk(WIDTH, HEIGHT) if mode == "CMYK" else photo(4).convert("RGB" if mode == "RGBX" else mode)
        if mode == "RGBX":
            image = image.convert("RGBX")
        for compression in compressions:
            yield f"{mode}, {compression}", encoded(image, "TIFF", compression=compression)
    for compression in compressions:
        yield f"I;16, {compression}", encoded(Image.fromarray(wide(top=400)), "TIFF", compression=compression)
        yield f"F, {compression}", encoded(Image.fromarray(wide(top=400).astype(np.float32) - 50), "TIFF", compression=compression)
        yield f"I, {compression}", encoded(Image.fromarray(wide(top=400).astype(np.int32) - 50), "TIFF", compression=compression)
    for compression in ("tiff_ccitt", "group3", "group4"):
        yield f"1, {compression}", encoded(photo().convert("1"), "TIFF", compression=compression)
    for mode in ("L", "RGB", "CMYK"):
        image = cmyk(WIDTH, HEIGHT) if mode == "CMYK" else photo().convert(mode)
        for quality in (20, 75, 95):
            yield f"{mode} in JPEG {quality}", encoded(image, "TIFF", compression="jpeg", quality=quality)
    yield "YCbCr in JPEG", encoded(photo().convert("YCbCr"), "TIFF", compression="jpeg")
    yield "YCbCr in LZW", encoded(photo().convert("YCbCr"), "TIFF", compression="tiff_lzw")
    yield "YCbCr in deflate", encoded(photo().convert("YCbCr"), "TIFF", compression="tiff_adobe_deflate")
    for predictor in (1, 2):
        yield f"LZW predictor {predictor}", encoded(photo(), "TIFF", compression="tiff_lzw", tiffinfo={317: predictor})
    yield "strips", encoded(Image.fromarray(picture(60, 301)), "TIFF", compression="tiff_lzw", strip_size=3000)
    yield "big", encoded(photo(), "TIFF", big_tiff=True)
    frames = [photo(), photo().rotate(90)]
    yield "several", encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    yield from rasters()


def rasters():
    for compression in (1, 8):
        for order in "<>":
            for layout in ({}, {"rows": 5}, {"tile": (16, 16)}, {"tile": (48, 32)}):
                kind = f"{'deflated ' if compression == 8 else ''}{order} {layout}"
                common = {"order": order, "compression": compression, **layout}
                for bits in (1, 2, 4, 8):
                    for photometric in (0, 1):
                        yield f"gray {photometric} of {bits}, {kind}", raster(bits, 1, photometric=photometric, **common)
                    yield f"palette of {bits}, {kind}", raster(bits, 1, photometric=3, palette=True, **common)
                yield f"gray of 16, {kind}", raster(16, 1, photometric=1, **common)
                for bits in (8, 16):
                    yield f"RGB of {bits}, {kind}", raster(bits, 3, photometric=2, **common)
                    for extra in ((0,), (1,), (2,)):
                        yield f"RGB of {bits} and {extra}, {kind}", raster(bits, 4, photometric=2, extra=extra, **common)
                    yield f"CMYK of {bits}, {kind}", raster(bits, 4, photometric=5, **common)
        common = {"compression": compression}
        for extra in ((0,), (1,), (2,)):
            yield f"gray and {extra}, {compression}", raster(8, 2, photometric=1, extra=extra, **common)
            yield f"palette and {extra}, {compression}", raster(8, 2, photometric=3, extra=extra, palette=True, **common)
            for more in ((0,), (0, 0), (1,)):
                yield f"RGB and {extra + more}, {compression}", raster(8, 3 + 1 + len(more), photometric=2,
                                                                      extra=extra + more, **common)
        yield f"CMYK and one, {compression}", raster(8, 5, photometric=5, extra=(0,), **common)
        yield f"CMYK and two, {compression}", raster(8, 6, photometric=5, extra=(0, 0), **common)
        for layout in ({}, {"rows": 5}, {"tile": (16, 16)}):
            for bits in (8, 16) if compression == 8 else (8,):
                yield f"planes RGB of {bits}, {compression}, {layout}", raster(bits, 3, photometric=2, separate=True,
                                                                              **common, **layout)
            yield f"planes RGB and one, {compression}, {layout}", raster(8, 4, photometric=2, extra=(0,), separate=True,
                                                                         **common, **layout)
            yield f"planes RGBA, {compression}, {layout}", raster(8, 4, photometric=2, extra=(2,), separate=True, **common,
                                                                  **layout)
            yield f"planes CMYK, {compression}, {layout}", raster(8, 4, photometric=5, separate=True, **common, **layout)
        for fill in (2,):
            for bits in (1, 2, 4, 8):
                yield f"reversed gray of {bits}, {compression}", raster(bits, 1, photometric=1, fill=fill, **common)
                yield f"reversed palette of {bits}, {compression}", raster(bits, 1, photometric=3, fill=fill, palette=True,
                                                                          **common)
            yield f"reversed RGB, {compression}", raster(8, 3, photometric=2, fill=fill, **common)
        for orientation in range(1, 10):
            yield f"orientation {orientation}, {compression}", raster(8, 3, photometric=2, orientation=orientation, **common)
        xmp = b'<x tiff:Orientation="6"/>'
        yield f"orientation in XMP, {compression}", raster(8, 3, photometric=2, more={700: (1, xmp)}, **common)
        yield f"of 12 bits, {compression}", raster(12, 1, photometric=1, **common)
        yield f"white is 0, of 16, {compression}", raster(16, 1, photometric=0, **common)
        yield f"signed of 16, {compression}", raster(16, 1, photometric=1, form=2, **common,
                                                     data=whole_numbers("<", 16, -100, 400))
        yield f"signed of 32, {compression}", raster(32, 1, photometric=1, form=2, **common,
                                                     data=whole_numbers("<", 32, -100, 400))
        yield f"unsigned of 32, {compression}", raster(32, 1, photometric=1, **common,
                                                       data=whole_numbers("<", 32, -100, 400))
        yield f"float, {compression}", raster(32, 1, photometric=1, form=3, **common, data=floats("<"))
        yield f"BigTIFF, {compression}", raster(8, 3, photometric=2, big=True, **common)
        yield f"signed bytes, {compression}", raster(8, 1, photometric=1, form=2, **common)
    yield "predictor of bytes", raster(8, 3, photometric=2, compression=8, predictor=2)
    yield "predictor of 16 bits", raster(16, 3, photometric=2, compression=8, predictor=2)
    yield "predictor of 16 bits, >", raster(16, 3, photometric=2, compression=8, predictor=2, order=">")
    yield "predictor of gray of 16", raster(16, 1, photometric=1, compression=8, predictor=2)
    yield "float, >", raster(32, 1, photometric=1, form=3, order=">", data=floats(">"))
    yield "signed of 32, >", raster(32, 1, photometric=1, form=2, order=">", data=whole_numbers(">", 32, -100, 400))

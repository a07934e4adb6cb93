"""Files of every kind of image that Pillow opens and bale decodes, each with a name. By Pillow, and byte by byte what it
does not write."""
import struct

import numpy as np
from image_support import encoded, picture
from picture_pixels import HEIGHT, WIDTH, colors, noise, photo, stride, wide
from picture_tiffs import tiffs
from PIL import Image

# --- BMP

def bmp(bits, rows, *, size=(WIDTH, HEIGHT), palette=b"", compression=0, header=40, masks=(), colors=None, offset=None,
        top_down=False):
    width, height = size
    head = struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, compression, len(rows), 0, 0,
                       len(palette) // 4 if colors is None else colors, 0)
    words = struct.pack(f"<{len(masks)}I", *masks)
    if header == 12:
        head = struct.pack("<IHHHH", 12, width, height, 1, bits)
        words = b""
    else:
        head = struct.pack("<I", header) + (head[4:] + words + bytes(200))[:header - 4]
        words = words if header == 40 else b""
    start = 14 + len(head) + len(words) + len(palette)
    return (b"BM" + struct.pack("<IHHI", start + len(rows), 0, 0, start if offset is None else offset) + head + words +
            palette + rows)


def palette(count, size=4, seed=1):
    return b"".join(noise(3, seed + i) + bytes(size - 3) for i in range(count))


def gray_palette(count):
    return b"".join(bytes([i, i, i, 0]) for i in range(count))


def rle8(seed=0):
    """Runs, pixels as they are, skips and ends of rows."""
    random = np.random.default_rng(seed)
    out = b""
    for y in range(HEIGHT):
        left = WIDTH
        while left:
            count = int(random.integers(1, min(left, 9) + 1))
            if count >= 3 and random.integers(2):
                out += bytes([0, count]) + noise(count, y) + bytes(count % 2)
            else:
                out += bytes([count, int(random.integers(0, 256))])
            left -= count
        out += b"\0\0"
    return out + b"\0\1"


def rle4(seed=0):
    random = np.random.default_rng(seed)
    out = b""
    for y in range(HEIGHT):
        left = WIDTH
        while left:
            count = int(random.integers(1, min(left, 9) + 1))
            if count >= 3 and random.integers(2):
                body = noise((count + 1) // 2, y)
                out += bytes([0, count]) + body + bytes(len(body) % 2)
            else:
                out += bytes([count, int(random.integers(0, 256))])
            left -= count
        out += b"\0\0"
    return out + b"\0\1"


MASKS_32 = [(0xFF0000, 0xFF00, 0xFF, 0), (0xFF000000, 0xFF0000, 0xFF00, 0), (0xFF000000, 0xFF00, 0xFF, 0),
            (0xFF000000, 0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000, 0xFF000000), (0xFF0000, 0xFF00, 0xFF, 0xFF000000),
            (0xFF000000, 0xFF00, 0xFF, 0xFF0000), (0, 0, 0, 0)]


def bmps():
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        yield mode, encoded(photo(4).convert(mode), "BMP")
    for bits in (1, 4, 8):
        rows = noise(stride(bits) * HEIGHT, bits)
        yield f"{bits} bits", bmp(bits, rows, palette=palette(1 << bits))
        yield f"{bits} bits, short palette", bmp(bits, rows, palette=palette(2))
        yield f"{bits} bits, from the top", bmp(bits, rows, palette=palette(1 << bits), top_down=True)
        yield f"{bits} bits, OS/2", bmp(bits, rows, palette=palette(1 << bits, 3), header=12)
        yield f"{bits} bits, gray", bmp(bits, rows, palette=gray_palette(1 << bits))
        yield f"{bits} bits, no count", bmp(bits, rows, palette=palette(1 << bits), colors=0)
        yield f"{bits} bits, offset of the palette", bmp(bits, rows, palette=palette(1 << bits), offset=54)
        yield f"{bits} bits, no offset", bmp(bits, rows, palette=palette(1 << bits), offset=0)
        yield f"{bits} bits, black and white", bmp(bits, rows, palette=bytes(4) + b"\xff\xff\xff\0")
        yield f"{bits} bits, white and black", bmp(bits, rows, palette=b"\xff\xff\xff\0" + bytes(4))
        yield f"{bits} bits, one color", bmp(bits, rows, palette=b"\1\2\3\0")
    yield "too many colors", bmp(8, noise(stride(8) * HEIGHT), palette=palette(300))
    for bits in (16, 24, 32):
        rows = noise(stride(bits) * HEIGHT, bits)
        for header in (40, 52, 56, 64, 108, 124):
            yield f"{bits} bits, header of {header}", bmp(bits, rows, header=header)
        yield f"{bits} bits, from the top", bmp(bits, rows, top_down=True)
        yield f"{bits} bits, no offset", bmp(bits, rows, offset=0)
        yield f"{bits} bits, OS/2", bmp(bits, rows, header=12)
        for masks in [(0xFF0000, 0xFF00, 0xFF), (0xF800, 0x7E0, 0x1F), (0x7C00, 0x3E0, 0x1F), (1, 2, 4)]:
            yield f"{bits} bits, masks {masks[0]:x}", bmp(bits, rows, compression=3, masks=masks)
            yield f"{bits} bits, masks {masks[0]:x} inside", bmp(bits, rows, compression=3, masks=masks, header=56)
        for masks in MASKS_32:
            for header in (40, 52, 56, 108):
                yield f"{bits} bits, masks {masks} of {header}", bmp(bits, rows, compression=3, masks=masks, header=header)
    for seed in range(3):
        yield f"RLE8 {seed}", bmp(8, rle8(seed), palette=palette(256), compression=1)
        yield f"RLE4 {seed}", bmp(4, rle4(seed), palette=palette(16), compression=2)
    yield "RLE8 gray", bmp(8, rle8(), palette=gray_palette(256), compression=1)
    yield "RLE8 black and white", bmp(8, rle8(), palette=bytes(4) + b"\xff\xff\xff\0", compression=1)
    yield "RLE8 from the top", bmp(8, rle8(), palette=palette(256), compression=1, top_down=True)
    skips = b"\5\1\0\2\3\4\0\3abc\0\4\7\0\0\2\2\2" + b"\xff\x33\0\0" * HEIGHT
    yield "RLE8 with skips", bmp(8, skips, palette=palette(256), compression=1)
    yield "RLE4 with skips", bmp(4, skips, palette=palette(16), compression=2)
    yield "RLE8 that ends early", bmp(8, skips[:40] + b"\0\1", palette=palette(256), compression=1)
    yield "RLE8 longer than rows", bmp(8, b"\0\x30" + noise(48) + b"\x30\4" * HEIGHT * 2, palette=palette(256), compression=1)
    yield "JPEG inside", bmp(24, noise(stride(24) * HEIGHT), compression=4)
    yield "64 bits", bmp(64, noise(stride(64) * HEIGHT))
    yield "RLE8 of 24 bits", bmp(24, noise(stride(24) * HEIGHT), compression=1)


# --- PNM

def pnms():
    for mode in ("1", "L", "RGB"):
        yield mode, encoded(photo().convert(mode), "PPM")
    yield "I;16", encoded(Image.fromarray(wide()), "PPM")
    size = b"%d %d\n" % (WIDTH, HEIGHT)
    count = WIDTH * HEIGHT
    for top in (1, 2, 7, 100, 254, 255, 256, 300, 1023, 4095, 65534, 65535):
        random = np.random.default_rng(top)
        for magic, channels in ((b"P5", 1), (b"P6", 3)):
            values = random.integers(0, top + 1, count * channels)
            body = values.astype(np.uint8).tobytes() if top < 256 else values.astype(">u2").tobytes()
            yield f"{magic.decode()} {top}", magic + b"\n" + size + b"%d\n" % top + body
            above = noise(len(body), top)  # values above the largest one
            yield f"{magic.decode()} {top} and above", magic + b"\n" + size + b"%d\n" % top + above
        for magic, channels in ((b"P2", 1), (b"P3", 3)):
            values = random.integers(0, top + 1, count * channels)
            text = b" ".join(b"%d" % value for value in values)
            yield f"{magic.decode()} {top}", magic + b"\n" + size + b"%d\n" % top + text
    bits = np.random.default_rng(3).integers(0, 2, count)
    yield "P1", b"P1\n" + size + b" ".join(b"%d" % bit for bit in bits) + b"\n"
    yield "P1 without spaces", b"P1\n" + size + b"".join(b"%d" % bit for bit in bits)
    yield "P1 with comments", b"P1 # one\n#two\r" + size + b"# three 1 0\n".join(b"%d" % bit for bit in bits)
    yield "P1 of twos", b"P1\n" + size + b"2" * count
    yield "P2 with comments", b"P2\n2#0\n 2 #x\n1#y\n0#\n\r\n1#2\n2 3 4#5"
    yield "P2 above", b"P2 2 1 9 9 10"
    yield "P2 negative", b"P2 2 1 9 9 -1"
    yield "P2 of words", b"P2 2 1 9 9 x"
    yield "P2 of long numbers", b"P2 2 1 9 9 00000000001"
    yield "P2 of ten digits", b"P2 2 1 9 9 0000000001"
    yield "P5 with CR LF", b"P5\r\n2 2\r\n255\r\n" + bytes(range(8))
    yield "P5 of no width", b"P5 0 2 255\n"
    yield "P5 of largest 0", b"P5 2 2 0\n" + bytes(8)
    yield "P5 of largest 65536", b"P5 2 2 65536\n" + bytes(8)
    yield "P5 of a long number", b"P5 00000000002 2 255\n" + bytes(8)
    yield "P5 of a comment at once", b"P5#\n2 2 255\n" + bytes(8)
    yield "P5 with bytes behind it", b"P5 2 2 255\n" + bytes(range(9))
    yield "P4", b"P4\n" + size + noise((WIDTH + 7) // 8 * HEIGHT)


# --- GIF

def lzw(indices, bits, clear_every=0, end=True):
    """GIF's codes: only clear codes, indices and strings of the table."""
    out, acc, count = bytearray(), 0, 0
    clear, next_code, size = 1 << bits, (1 << bits) + 2, bits + 1
    table = {bytes([i]): i for i in range(clear)}

    def put(code):
        nonlocal acc, count
        acc |= code << count
        count += size
        while count >= 8:
            out.append(acc & 255)
            acc >>= 8
            count -= 8

    put(clear)
    word = b""
    for at, index in enumerate(indices):
        if word + bytes([index]) in table:
            word += bytes([index])
            continue
        put(table[word])
        if next_code < 4096:
            table[word + bytes([index])] = next_code
            if next_code == 1 << size and size < 12:
                size += 1
            next_code += 1
        word = bytes([index])
        if clear_every and at % clear_every == 0:
            put(table[word])
            put(clear)
            word, next_code, size = b"", clear + 2, bits + 1
            table = {bytes([i]): i for i in range(clear)}
    if word:
        put(table[word])
    if end:
        put(clear + 1)
    if count:
        out.append(acc & 255)
    return bytes(out)


def blocks(data, length=255):
    return b"".join(bytes([len(data[i:i + length])]) + data[i:i + length] for i in range(0, len(data), length)) + b"\0"


def gif(indices, bits=8, *, screen=(WIDTH, HEIGHT), frame=(0, 0, WIDTH, HEIGHT), palette=None, local=None, interlaced=False,
        before=b"", after=b";", codes=None):
    def flag(colors):
        return 0 if colors is None else 128 | (len(colors) // 3).bit_length() - 2
    codes = lzw(indices, bits) if codes is None else codes
    return (b"GIF89a" + struct.pack("<HHBBB", *screen, flag(palette), 0, 0) + (palette or b"") + before +
            b"," + struct.pack("<HHHHB", *frame, flag(local) | 64 * interlaced) + (local or b"") + bytes([bits]) +
            blocks(codes) + after)


def control(transparent):
    return b"!\xf9\4" + struct.pack("<BHB", 1, 10, transparent) + b"\0"


def gifs():
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        yield mode, encoded(photo(4).convert(mode), "GIF")
        yield f"{mode} interlaced", encoded(photo(4).convert(mode), "GIF", interlace=1)
        yield f"{mode} in order", encoded(photo(4).convert(mode), "GIF", interlace=0)
    frames = [photo().rotate(i) for i in range(3)]
    yield "animated", encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], loop=0)
    yield "with a comment", encoded(photo(), "GIF", comment=b"words" * 90)
    count = WIDTH * HEIGHT
    random = np.random.default_rng(7)
    for bits in range(2, 9):
        indices = random.integers(0, 1 << bits, count, dtype=np.uint8).tobytes()
        full = noise(3 << bits, bits)
        yield f"{bits} bits", gif(indices, bits, palette=full)
        yield f"{bits} bits, two colors", gif(indices, bits, palette=full[:6])
        yield f"{bits} bits, local", gif(indices, bits, palette=noise(12), local=full)
        yield f"{bits} bits, no palette", gif(indices, bits)
        yield f"{bits} bits, ramp", gif(indices, bits, palette=bytes(i for i in range(1 << bits) for _ in range(3)))
        yield f"{bits} bits, local ramp", gif(indices, bits, palette=full, local=bytes([0, 0, 0, 1, 1, 1]))
        yield f"{bits} bits, interlaced", gif(indices, bits, palette=full, interlaced=True)
        yield f"{bits} bits, cleared", gif(indices, bits, palette=full, codes=lzw(indices, bits, clear_every=50))
        yield f"{bits} bits, no end code", gif(indices, bits, palette=full, codes=lzw(indices, bits, end=False))
    indices = random.integers(0, 256, count, dtype=np.uint8).tobytes()
    full = noise(768)
    for height in range(1, 10):
        size = (0, 0, WIDTH, height)
        yield f"interlaced, {height} rows", gif(indices[:WIDTH * height], palette=full, screen=(WIDTH, height), frame=size,
                                                interlaced=True)
    part = indices[:20 * 10]
    yield "frame inside", gif(part, palette=full, frame=(5, 7, 20, 10))
    yield "frame inside, transparent", gif(part, palette=full, frame=(5, 7, 20, 10), before=control(9))
    yield "frame inside, no palette", gif(part, frame=(5, 7, 20, 10), before=control(9))
    yield "frame outside", gif(part, palette=full, frame=(30, 20, 20, 10))
    yield "frame of nothing", gif(part, palette=full, frame=(3, 3, 0, 10))
    yield "screen of nothing", gif(part, palette=full, screen=(0, 0), frame=(0, 0, 20, 10))
    extension = b"!\xfe" + blocks(b"said " * 90) + b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0" + b"!\1" + blocks(noise(700)) + b"zz"
    yield "extensions", gif(indices, palette=full, before=extension + control(300 & 255))
    yield "short control", gif(indices, palette=full, before=b"!\xf9\2\1\0\0")
    yield "no image", gif(indices, palette=full, before=b";")
    yield "more codes than pixels", gif(indices + part, palette=full)
    yield "fewer codes than pixels", gif(indices[:-50], palette=full)
    yield "empty blocks inside", gif(b"", palette=full)[:-3] + blocks(lzw(indices, 8))[:256] + b"\0" + blocks(lzw(indices, 8))[256:]
    yield "no trailer", gif(indices, palette=full, after=b"")
    yield "codes of nothing", gif(b"", palette=full, codes=noise(4000))
    yield "bits of nothing", gif(indices, 8, palette=full).replace(b"\x08\xff", b"\x0d\xff", 1)
    for seed in range(20):
        spoiled = bytearray(gif(indices, palette=full))
        for at in np.random.default_rng(seed).integers(790, len(spoiled), 3):
            spoiled[at] ^= 1 << seed % 8
        yield f"spoiled {seed}", bytes(spoiled)


# --- WebP

def webps():
    for quality in (1, 50, 80, 100):
        yield f"quality {quality}", encoded(photo(), "WEBP", quality=quality)
        yield f"quality {quality}, alpha", encoded(photo(4), "WEBP", quality=quality)
    yield "lossless", encoded(photo(), "WEBP", lossless=True)
    yield "lossless, alpha", encoded(photo(4), "WEBP", lossless=True)
    yield "lossless, exact", encoded(photo(4), "WEBP", lossless=True, exact=True)
    yield "lossless, palette", encoded(colors(30).convert("RGB"), "WEBP", lossless=True)
    yield "metadata", encoded(photo(), "WEBP", exif=b"Exif\0\0II*\0", xmp=b"<x/>")
    frames = [photo(), photo().rotate(90), photo().rotate(180)]
    yield "animated", encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:])
    frames = [photo(4), photo(4).rotate(30)]
    yield "animated, alpha", encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], background=(9, 8, 7, 255))
    still = encoded(Image.fromarray(picture(20, 10, 4)), "WEBP", lossless=True)
    body = struct.pack("<I", 3)[:3] + struct.pack("<I", 2)[:3] + struct.pack("<I", 19)[:3] + struct.pack("<I", 9)[:3]
    frame = body + struct.pack("<I", 50)[:3] + b"\0" + still[12:]
    content = (b"WEBPVP8X" + struct.pack("<IB", 10, 0x12) + bytes(3) + struct.pack("<I", WIDTH - 1)[:3] +
               struct.pack("<I", HEIGHT - 1)[:3] + b"ANIM" + struct.pack("<IIH", 6, 0xFF112233, 0) + b"ANMF" +
               struct.pack("<I", len(frame)) + frame)
    yield "frame inside its canvas", b"RIFF" + struct.pack("<I", len(content)) + content
    for size in ((1, 1), (2, 3), (16, 16), (255, 129)):
        yield f"{size}", encoded(Image.fromarray(picture(*size)), "WEBP")


# --- AVIF

def avifs():
    for quality in (20, 75, 100):
        for subsampling in ("4:2:0", "4:2:2", "4:4:4", "4:0:0"):
            yield f"{quality} {subsampling}", encoded(photo(), "AVIF", quality=quality, subsampling=subsampling)
    yield "alpha", encoded(photo(4), "AVIF")
    yield "limited range", encoded(photo(), "AVIF", range="limited")
    yield "metadata", encoded(photo(), "AVIF", exif=b"II*\0\x08\0\0\0\0\0\0\0\0\0", icc_profile=b"")
    frames = [photo(), photo().rotate(90)]
    yield "animated", encoded(frames[0], "AVIF", save_all=True, append_images=frames[1:])


KINDS = {"bmp": bmps, "ppm": pnms, "gif": gifs, "webp": webps, "tif": tiffs, "avif": avifs}

"""Index files as formats/shard/index/INDEX.md has them, changed on purpose."""
import struct

HEADER = struct.Struct("<8sIIQIIQQQ16sII")
EXTENSION = struct.Struct("<QQ16s")
FIELD_BYTES = {1: 64, 2: 24}


def _table():
    values = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        values.append(byte)
    return values


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def set_extent_offsets(path, offset):
    """Every field of every sample is at `offset`; the checksums are right."""
    content = bytearray(path.read_bytes())
    magic, version, flags, samples, fields, zero, shard, keys, size, digest, _, _ = HEADER.unpack_from(content)
    at = HEADER.size
    extents = samples * fields
    names = 0
    if version == 2:
        extents, names, _ = EXTENSION.unpack_from(content, at)
        at += EXTENSION.size
    at += fields * FIELD_BYTES[version] + names
    if version == 2 and extents != samples * fields:
        at += 8 * samples + 2 * extents
    for extent in range(extents):
        struct.pack_into("<Q", content, at + 16 * extent, offset)
    header = [magic, version, flags, samples, fields, zero, shard, keys, size, digest, crc32c(content[HEADER.size:]), 0]
    header[-1] = crc32c(HEADER.pack(*header)[:-4])
    HEADER.pack_into(content, 0, *header)
    path.write_bytes(content)

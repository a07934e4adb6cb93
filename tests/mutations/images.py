"""Mutations of how images are edited, checked and decoded."""
from mutations.mutation import Mutation

METADATA = ("python", "tests/python/test_image_metadata.py")

MUTATIONS = [
    Mutation("bytes between segments stay where they are", "formats/image/image_pieces.cpp",
             "    const std::uint32_t marker = in.u8(at + 1);\n    if (marker == k_tem ||",
             "    const std::uint32_t marker = in.u8(at + 1);\n"
             "    if (at > out.pieces.back().end) out.pieces.push_back({.begin = out.pieces.back().end, .end = at});\n"
             "    if (marker == k_tem ||", (*METADATA, "-k", "between_segments")),
    Mutation("metadata that follow a scan are taken for pixels", "formats/image/image_pieces.cpp",
             "  if (has_scan && piece.use != PieceUse::picture) piece.use = PieceUse::extra;\n",
             "  if (has_scan) piece.use = PieceUse::picture;\n", (*METADATA, "-k", "wherever")),
    Mutation("private chunks are not stripped", "formats/image/image_pieces.cpp",
             "    piece.use = PieceUse::extra;\n  }\n}", "  }\n}", (*METADATA, "-k", "chunks")),
    Mutation("what is stripped is not compared", "formats/image/metadata.cpp",
             "  const Image expected = decode_to_compare(image, max_pixels);\n  const Image result = decode_image(out, max_pixels);\n",
             "  if (!out.empty()) return out;\n  const Image expected = decode_to_compare(image, max_pixels);\n"
             "  const Image result = decode_image(out, max_pixels);\n", (*METADATA, "-k", "compared")),
    Mutation("XMP keeps its orientation", "formats/image/orientation.cpp",
             "    } else {\n      drop_xmp_orientation(content);\n    }", "    }", (*METADATA, "-k", "trace")),
    Mutation("an orientation of type LONG is not read", "formats/image/exif_directory.cpp",
             "    case k_long:\n", "", (*METADATA, "-k", "trace")),
]

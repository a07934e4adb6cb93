"""Mutations of how images are edited, checked and decoded."""
from mutations.mutation import Mutation

METADATA = ("python", "tests/python/test_image_metadata.py")
INCOMPLETE = ("python", "tests/python/test_incomplete_images.py")
LIMIT = ("python", "tests/python/test_max_pixels.py")

MUTATIONS = [
    Mutation("bytes between segments stay where they are", "formats/image/image_pieces.cpp",
             "    const std::uint32_t marker = in.u8(at + 1);\n    if (jpeg_marker::is_alone(marker) ||",
             "    const std::uint32_t marker = in.u8(at + 1);\n"
             "    if (at > out.pieces.back().end) out.pieces.push_back({.begin = out.pieces.back().end, .end = at});\n"
             "    if (jpeg_marker::is_alone(marker) ||", (*METADATA, "-k", "between_segments")),
    Mutation("metadata that follow a scan are taken for pixels", "formats/image/image_pieces.cpp",
             "  if (has_scan && piece.use != PieceUse::picture) piece.use = PieceUse::extra;\n",
             "  if (has_scan) piece.use = PieceUse::picture;\n", (*METADATA, "-k", "wherever")),
    Mutation("private chunks are not stripped", "formats/image/image_pieces.cpp",
             "    piece.use = PieceUse::extra;\n  }\n}", "  }\n}", (*METADATA, "-k", "chunks")),
    Mutation("what is stripped is not compared", "formats/image/metadata/metadata.cpp",
             "  const Image expected = decode_to_compare(image, max_pixels);\n  const Image result = decode_image(out, max_pixels);\n",
             "  if (!out.empty()) return out;\n  const Image expected = decode_to_compare(image, max_pixels);\n"
             "  const Image result = decode_image(out, max_pixels);\n", (*METADATA, "-k", "compared")),
    Mutation("XMP keeps its orientation", "formats/image/metadata/orientation.cpp",
             "    } else {\n      drop_xmp_orientation(content);\n    }", "    }", (*METADATA, "-k", "trace")),
    Mutation("an orientation of type LONG is not read", "formats/image/metadata/exif_directory.cpp",
             "    case k_long:\n", "", (*METADATA, "-k", "trace")),
    Mutation("whether a cut image is refused depends on the crop", "formats/image/image_decoder.cpp",
             "  require_whole(bytes, has_end, max_pixels, check);\n", "", ("image_region", "Whether an image that is cut*")),
    Mutation("an odd header has no size", "formats/image/probe.cpp",
             "  if (header.width != 0 && header.height != 0) return header;\n  try", "  if (in.size() > 0) return header;\n  try",
             (*INCOMPLETE, "-k", "without_a_size")),
    Mutation("one image without a size stops its dataset", "loader/row_layout.cpp",
             "    if (header.width == 0 || header.height == 0) continue;\n", "", (*INCOMPLETE, "-k", "without_a_size")),
    Mutation("pack finds nothing out about images", "writer/shard_job.cpp",
             "  entry.condition = facts.condition;\n", "", (*INCOMPLETE, "-k", "pack_marks")),
    Mutation("index finds nothing out about images", "writer/add_indexes.cpp",
             ", .condition = facts.condition}", "}", (*INCOMPLETE, "-k", "index_marks")),
    Mutation("verify --decode decodes nothing", "reader/dataset_check.cpp",
             "  if (options_.decode) check_images(task, shard);\n", "", (*INCOMPLETE, "-k", "verify")),
    Mutation("loaders do not heed what the index says of an image", "loader/worker/worker.cpp",
             "      return WholeCheck::decode;\n", "      return WholeCheck::end;\n", (*INCOMPLETE, "-k", "every_epoch")),
    Mutation("layouts of pixels have no limit", "writer/image_edits.cpp",
             "check_pixel_budget(header.width, header.height, max_pixels_);", "return false;", (*LIMIT, "-k", "packing")),
    Mutation("loaders have a limit of their own", "loader/include/bale/loader/loader_options.hpp",
             "std::uint64_t max_pixels = k_default_max_pixels;", "std::uint64_t max_pixels = std::uint64_t{1} << 27;",
             (*LIMIT, "-k", "loading")),
]

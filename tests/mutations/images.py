"""Mutations of how images are edited, checked and decoded."""
from mutations.mutation import Mutation

METADATA = ("python", "tests/python/test_image_metadata.py")
INCOMPLETE = ("python", "tests/python/test_incomplete_images.py")
LIMIT = ("python", "tests/python/test_max_pixels.py")
KINDS = ("python", "tests/python/test_image_kinds.py")
PIXELS = (*KINDS, "-k", "pixels_are_pillows")
HUGE = (*KINDS, "-k", "huge")

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

    # Kinds that are decoded as a whole.
    Mutation("every BMP is read from the bottom", "formats/image/bmp/bmp_decoder.cpp",
             "header.top_down ? y : header.height - 1 - y", "header.height - 1 - y", PIXELS),
    Mutation("a run of a BMP goes on in the next row", "formats/image/bmp/bmp_rle.cpp",
             "    if (x_ + count > width_) count = x_ < width_ ? width_ - x_ : 0;\n", "", PIXELS),
    Mutation("rows of a BMP need not be there", "formats/image/bmp/bmp_decoder.cpp",
             "  if (header.rle == BmpRle::none && !has_rows(bytes, header)) {",
             "  if (header.rle == BmpRle::none && bytes.size() < header.offset) {", (*KINDS, "-k", "part_of_a_file")),
    Mutation("values of a PNM are not rounded", "formats/image/pnm/pnm_header.cpp",
             "std::nearbyint(static_cast<double>(i) / header.max_value * limit)",
             "std::floor(static_cast<double>(i) / header.max_value * limit)", PIXELS),
    Mutation("what a GIF's frame leaves free is black", "formats/image/gif/gif_decoder.cpp",
             "      put_index<pixel_bytes>(header, header.background, pixels + i * pixel_bytes);\n",
             "      std::memset(pixels + i * pixel_bytes, 0, pixel_bytes);\n", PIXELS),
    Mutation("a gray ramp replaces a GIF's palette", "formats/image/gif/gif_header.cpp",
             "if (!is_gray_ramp) out_.palette = colors;", "out_.palette = colors;", PIXELS),
    Mutation("a WebP's frame is at its canvas's corner", "formats/image/webp/webp_decoder.cpp",
             "pixels + y * stride + x * pixel_bytes", "pixels", PIXELS),
    Mutation("a TIFF is not turned", "formats/image/tiff/tiff_decoder.cpp",
             "  if (orientation <= 1 || orientation > 8) return read_pixels(", "  return read_pixels(", PIXELS),
    Mutation("premultiplied colors stay so", "formats/image/tiff/tiff_layout.cpp",
             "return premultiplied ? TiffPixels::premultiplied : TiffPixels::rgb;", "return TiffPixels::rgb;", PIXELS),
    Mutation("libtiff prints its errors", "formats/image/tiff/tiff_file.cpp",
             "  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);\n", "", (*KINDS, "-k", "part_of_a_file")),
    Mutation("a TIFF's tiles may have any size", "formats/image/tiff/tiff_layout.cpp",
             "    check_pixel_budget(out.block_width, out.block_height, max_pixels);\n", "    static_cast<void>(max_pixels);\n", HUGE),
    Mutation("a transparent AVIF is blended with black", "formats/image/avif/avif_decoder.cpp",
             "  if (decoder->alphaPresent == AVIF_FALSE) return", "  return", PIXELS),
    Mutation("a cut image of another kind is complete", "formats/image/image_check.cpp",
             "    if (!codec->has_end(image)) return false;\n", "", (*KINDS, "-k", "cut_off_is_named")),
    Mutation("a crop of a kind without regions is its corner", "formats/image/image_decoder.cpp",
             "pixels + region.y * stride + std::size_t{region.x} * pixel_bytes,", "pixels,", (*KINDS, "-k", "crops_are")),
    Mutation("a resized WebP becomes a PNG of its name", "writer/image_edits.cpp",
             "  if (!encodes) {", "  if (false) {", (*KINDS, "-k", "resizing_makes")),
]

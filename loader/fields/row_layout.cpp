#include "bale/loader/fields/row_layout.hpp"

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/loader/fields/field_layout.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::uint64_t k_alignment_bytes = 64;
// For JPEGs that a device decodes, a row has at least this many bytes, and twice those of its pixels: all of it is
// page-locked. A larger JPEG is decoded by a worker.
constexpr std::uint64_t k_least_jpeg_bytes = 128 << 10;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes;
}

}  // namespace

RowLayout::RowLayout(const Dataset& dataset, const LoaderOptions& options, std::uint64_t max_deliveries)
    : dataset_(dataset),
      transform_(options.transform),
      field_(options.field),
      max_pixels_(options.max_pixels),
      leaves_jpegs_(options.device_pixels > 0),
      views_(bytes_of_first_view(options, max_deliveries), options.further_views, options.batch_size) {}

/// Of a transform of fixed shape.
std::uint64_t RowLayout::fixed_row_bytes() const {
  const std::uint64_t image_bytes = transform_.image_bytes();
  return leaves_jpegs_ ? aligned(std::max(2 * image_bytes, k_least_jpeg_bytes)) : image_bytes;
}

std::uint64_t RowLayout::bytes_of_first_view(const LoaderOptions& options, std::uint64_t max_deliveries) const {
  if (transform_.has_fixed_shape()) return fixed_row_bytes() * options.batch_size;
  LargestRows largest(options.batch_size, max_deliveries);
  for (std::size_t shard = 0; shard < dataset_.num_shards(); ++shard) {
    if (transform_.shape == Transform::Shape::ragged) require_sizes(shard);
    const IndexInUse index = dataset_.use_index(shard);
    for (std::uint64_t i = 0; i < index->size(); ++i) largest.add(row_bytes(*index, shard, i));
  }
  return largest.total();
}

/// If an index has the size of one image, its writer read the headers of all images. If it has none, this reads the
/// headers: an image with a size shows that the writer did not.
void RowLayout::require_sizes(std::size_t shard) const {
  const ShardInUse images = dataset_.use_shard(shard);
  const ShardIndex& index = images->index();
  std::uint64_t known = 0;
  while (known < index.size() && (index.width(known) == 0 || index.height(known) == 0)) ++known;
  if (known < index.size()) return;
  Scratch scratch;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    ImageHeader header;
    try {
      header = probe_image(field_.empty() ? images->read_image(i, scratch) : images->read_field(i, field_, scratch));
    } catch (const Error&) {
      continue;  // a bad sample: the worker reports it
    }
    if (header.width == 0 || header.height == 0) continue;
    throw Error(ErrorCode::unsupported, "the index does not have this image's size in pixels",
                {.path = dataset_.shard_path(shard),
                 .key = std::string(index.key(i)),
                 .hint = "make one that does with `bale index --force`, or use a transform of fixed size"});
  }
}

std::uint64_t RowLayout::row_bytes(std::size_t shard, std::uint64_t sample) const {
  if (transform_.has_fixed_shape()) return fixed_row_bytes();
  return row_bytes(*dataset_.use_index(shard), shard, sample);
}

std::uint64_t RowLayout::row_bytes(const ShardIndex& index, std::size_t shard, std::uint64_t sample) const {
  const auto field = field_.empty() ? index.image_field(sample) : index.field_id(field_);
  if (!field || !index.extent(sample, *field).present()) return 0;  // the worker reports it
  if (transform_.shape == Transform::Shape::raw) {
    if (index.fields()[*field].codec != Codec::none) {
      throw Error(ErrorCode::unsupported, "compressed fields cannot be delivered raw: their sizes are not in the index",
                  {.path = dataset_.shard_path(shard)});
    }
    return aligned(index.extent(sample, *field).length);
  }
  const std::uint64_t pixels = std::uint64_t{index.width(sample)} * index.height(sample);
  return pixels > max_pixels_ ? 0 : aligned(pixels * transform_.channels() * dtype_bytes(transform_.dtype));
}

}  // namespace bale::loader_detail

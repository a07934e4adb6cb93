#include "bale/loader/row_layout.hpp"

#include <algorithm>

#include "bale/formats/core/error.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::uint64_t k_alignment_bytes = 64;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes;
}

}  // namespace

RowLayout::RowLayout(const Dataset& dataset, const Transform& transform, std::string field, std::uint32_t batch_size)
    : dataset_(dataset), transform_(transform), field_(std::move(field)) {
  if (transform_.has_fixed_shape()) {
    batch_bytes_ = transform_.image_bytes() * batch_size;
    return;
  }
  // Padding and draws with replacement may put the largest image in every row of a batch. Pages that no batch reaches
  // are never taken.
  std::uint64_t largest = 0;
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    if (transform_.kind == Transform::Kind::ragged) require_sizes(shard);
    for (std::uint64_t i = 0; i < dataset.shard_size(shard); ++i) largest = std::max(largest, row_bytes(shard, i));
  }
  batch_bytes_ = largest * batch_size;
}

/// An index that states the size of one image was made by somebody who looked at all of them. If it states none, the
/// images decide: those that have a size show that nobody looked.
void RowLayout::require_sizes(std::size_t shard) const {
  const ShardInUse images = dataset_.use_shard(shard);
  const ShardIndex& index = dataset_.index(shard);
  std::uint64_t known = 0;
  while (known < index.size() && (index.width(known) == 0 || index.height(known) == 0)) ++known;
  if (known < index.size()) return;
  Scratch scratch;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    ImageHeader header;
    try {
      header = probe_image(field_.empty() ? images->read_image(i, scratch) : images->read_field(i, field_, scratch));
    } catch (const Error&) {
      continue;  // a bad sample: the worker will say so
    }
    if (header.width == 0 || header.height == 0) continue;
    throw Error(ErrorCode::unsupported, "the index does not tell this image's size in pixels",
                {.path = dataset_.shard_path(shard),
                 .key = std::string(index.key(i)),
                 .hint = "make one that does with `bale index --force`, or use a transform of fixed size"});
  }
}

std::uint64_t RowLayout::row_bytes(std::size_t shard, std::uint64_t sample) const {
  if (transform_.has_fixed_shape()) return transform_.image_bytes();
  const ShardIndex& index = dataset_.index(shard);
  const auto field = field_.empty() ? index.image_field(sample) : index.field_id(field_);
  if (!field || !index.extent(sample, *field).present()) return 0;  // the worker will say so
  if (transform_.kind == Transform::Kind::raw) {
    if (index.fields()[*field].codec != Codec::none) {
      throw Error(ErrorCode::unsupported, "compressed fields cannot be delivered raw: their sizes are not in the index",
                  {.path = dataset_.shard_path(shard)});
    }
    return aligned(index.extent(sample, *field).length);
  }
  return aligned(std::uint64_t{index.width(sample)} * index.height(sample) * 3 * dtype_bytes(transform_.dtype));
}

}  // namespace bale::loader_detail

#include "bale/loader/cuda/batch_tables.hpp"

#include "bale/formats/base/math/rounding.hpp"
#include "bale/loader/cuda/kernels/convert_args.hpp"
#include "bale/loader/cuda/kernels/resize_args.hpp"

namespace bale::cuda_detail {

BatchTables::BatchTables(std::uint32_t batch_size, bool mixes_labels, bool decodes) : mixes(mixes_labels) {
  // From the widest type to the narrowest, so that every table is aligned.
  const auto place = [&](std::size_t bytes_a_row) {
    const std::size_t at = size_bytes;
    size_bytes += bytes_a_row * batch_size;
    return at;
  };
  labels = place(sizeof(std::int64_t));
  if (mixes) partner_labels = place(sizeof(std::int64_t));
  if (decodes) resize = place(sizeof(ResizeRow));
  rows = place(sizeof(ConvertRow));
  if (mixes) shares = place(sizeof(float));
  mask = place(sizeof(std::uint8_t));
  size_bytes = round_up(size_bytes, sizeof(std::int64_t));  // the tables of the next batch follow
}

}  // namespace bale::cuda_detail

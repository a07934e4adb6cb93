#include "bale/formats/litdata/litdata.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bale/formats/container/reading/converted_payload.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/litdata/chunk.hpp"
#include "bale/formats/litdata/config.hpp"

namespace bale::litdata {
namespace {

/// Bytes of the value that the field was made of, if its numbers are all of it: an array file less its header.
std::uint64_t vector_bytes(const Column& column, std::uint64_t field_bytes) {
  const auto empty = array_delivery(column.type, {0}, 0);
  return field_bytes - std::min<std::uint64_t>(field_bytes, empty->head.size());
}

MadeFields made_fields(std::vector<Column> columns) {
  return {.front_bytes = k_value_front_bytes,
          .delivery = [columns = std::move(columns)](const Stream&,
                                                     const StoredValue& value) -> std::optional<ArrayConversion> {
            for (const Column& column : columns) {
              const std::uint64_t bytes = column.kind == ValueKind::vector ? vector_bytes(column, value.length) : 0;
              auto delivery = conversion_of(column, value.front, bytes);
              if (!delivery) continue;
              if (field_of(column, delivery->extension) == value.field.name) return delivery;
            }
            return std::nullopt;
          }};
}

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const auto is_located = [](const FieldInfo& field) { return field.located; };
  ChunkConfig config = read_chunk_config(path);
  const Packing packing = packing_of(path, config.compresses_samples);
  if (packing == Packing::plain && std::all_of(index.fields().begin(), index.fields().end(), is_located)) {
    return std::make_unique<FilePayload>(path);
  }
  return make_made_payload(
      path, index, [path, packing] { return std::move(open_chunk(path, packing).content); }, packing == Packing::plain,
      made_fields(std::move(config.columns)));
}

}  // namespace bale::litdata

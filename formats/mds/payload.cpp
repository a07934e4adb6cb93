#include "bale/formats/mds/mds.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "bale/formats/container/reading/converted_payload.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/mds/columns.hpp"
#include "bale/formats/mds/compression.hpp"
#include "bale/formats/mds/header.hpp"

namespace bale::mds {
namespace {

/// The columns, which are read when the first value is made.
struct LateColumns {
  std::once_flag once;
  std::vector<Column> columns;
};

MadeFields made_fields(const std::string& path) {
  const auto late = std::make_shared<LateColumns>();
  return {.front_bytes = k_value_head_bytes,
          .delivery = [path, late](const Stream& content, const StoredValue& value) -> std::optional<ArrayConversion> {
            std::call_once(late->once, [&] { late->columns = read_columns(content, path); });
            for (const Column& column : late->columns) {
              auto delivery = conversion_of(column, value.front);
              if (delivery && field_of(column, delivery->extension) == value.field.name) return delivery;
            }
            return std::nullopt;
          }};
}

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const bool compressed = is_compressed(path);
  const auto is_located = [](const FieldInfo& field) { return field.located; };
  const bool plain = std::all_of(index.fields().begin(), index.fields().end(), is_located);
  if (plain && !compressed) return std::make_unique<FilePayload>(path);
  return make_made_payload(
      path, index, [path, compressed] { return open_content(path, compressed); }, !compressed, made_fields(path));
}

}  // namespace bale::mds

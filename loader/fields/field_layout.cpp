#include "bale/loader/fields/field_layout.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/loader/transform/fields/array_field.hpp"
#include "bale/loader/transform/targets/target_maker.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::size_t k_max_indexes = 1024;  // of a larger dataset, every n-th shard is looked at
constexpr int k_max_damaged_arrays = 100;    // that are skipped in the search for the first array
// The index has the compressed size only. A field that does not fit is read by the loader itself, so this only decides
// how often that happens. Room that no batch uses takes no memory.
constexpr std::uint64_t k_room_per_compressed_byte = 8;

bool is_ragged(const Field& field) { return !is_one_array(field.kind); }

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The fields of all samples, or of the first shard's.
std::vector<std::string> known_fields(const Dataset& dataset) {
  if (dataset.num_counted_shards() == dataset.num_shards()) return dataset.fields();
  std::vector<std::string> names;
  const IndexInUse index = dataset.use_index(0);
  for (const FieldInfo& field : index->fields()) names.push_back(field.name);
  return names;
}

void require_field(const Dataset& dataset, const Field& field) {
  if (field.source == k_label_field && dataset.translates_labels()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("fields: \"{}\" is the stored label, but classes of several datasets are merged", k_label_field),
        {.hint = "use the batch's labels, which are numbers of the merged classes"});
  }
  const std::vector<std::string>& names = dataset.fields();
  if (contains(names, field.source)) return;
  const bool is_known = field.kind == FieldKind::mask || (!field.type.empty() && field.shape);
  if (field.optional && (is_ragged(field) || is_known)) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("fields: no sample has the field \"{}\"; the dataset has {}",
                                                       printable(field.source), joined(names)));
}

/// Fills in type and shape from the first sample that has the field.
void complete_array(const Dataset& dataset, Field& field) {
  Scratch scratch;
  std::optional<Error> first_error;
  int num_damaged = 0;
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    const ShardInUse arrays = dataset.use_shard(shard);
    const ShardIndex& index = arrays->index();
    const auto id = index.field_id(field.source);
    for (std::uint64_t i = 0; id && i < index.size(); ++i) {
      if (!index.extent(i, *id).present()) continue;
      try {
        return transform_detail::complete_array_field(field, arrays->read_field(i, field.source, scratch));
      } catch (const Error& error) {
        if (!is_data_error(error)) throw;
        if (!first_error) {
          first_error = Error(error.code(), fmt::format("field {}: {}", printable(field.source), error.message()),
                              {.path = arrays->path(), .key = std::string(index.key(i))});
        }
        if (++num_damaged == k_max_damaged_arrays) throw Error(*first_error);
      }
    }
  }
  if (first_error) throw Error(*first_error);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("fields: no sample has the field \"{}\"", printable(field.source)));
}

/// The room that each ragged field needs for the largest batch.
void measure_ragged(const Dataset& dataset, const std::vector<Field>& fields, std::uint64_t batch_size,
                    std::uint64_t max_deliveries, std::vector<FieldRoom>& rooms) {
  std::vector<LargestRows> largest(fields.size(), LargestRows(batch_size, max_deliveries));
  const std::size_t step = std::max<std::size_t>(divide_up(dataset.num_shards(), k_max_indexes), 1);
  for (std::size_t shard = 0; shard < dataset.num_shards(); shard += step) {
    const IndexInUse index = dataset.use_index(shard);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (!is_ragged(fields[f]) || !index->field_id(fields[f].source)) continue;
      for (std::uint64_t i = 0; i < index->size(); ++i) {
        largest[f].add(FieldLayout::row_bytes(fields[f], *index, i));
      }
    }
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (is_ragged(fields[f])) rooms[f] = {.is_ragged = true, .bytes = largest[f].total()};
  }
}

}  // namespace

void require_image_and_label(const Dataset& dataset, const LoaderOptions& options) {
  if (dataset.manifest() && dataset.size() == 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("version {} of the dataset has no samples: all were removed", dataset.version()),
                {.hint = "add others, or read an earlier version"});
  }
  const std::vector<std::string> names = known_fields(dataset);
  if (names.empty()) return;  // no samples
  const auto refuse = [&](const std::string& what, const char* hint) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}; the dataset has {}", what, joined(names)),
                {.hint = hint});
  };
  const bool has_image = contains(names, k_array_field) || std::any_of(names.begin(), names.end(), is_image_field);
  if (options.field.empty() && !has_image) {
    refuse("field: no sample has a field with an image's name",
           "name the field that is the image (reading=bale.Reading(field=...) in Python)");
  }
  if (!options.field.empty() && !contains(names, options.field)) {
    refuse(fmt::format("field: no sample has the field \"{}\"", printable(options.field)),
           "name one of these, or none");
  }
  if (options.label_field.empty()) return;
  if (dataset.translates_labels()) {
    refuse("label_field: classes of several datasets are merged",
           "use the labels of the datasets, and leave label_field out");
  }
  if (!contains(names, options.label_field)) {
    refuse(fmt::format("label_field: no sample has the field \"{}\"", printable(options.label_field)),
           "name one of these, or none");
  }
}

FieldLayout::FieldLayout(const Dataset& dataset, const LoaderOptions& options, std::uint64_t max_deliveries)
    : fields_(options.fields), rooms_(options.fields.size()) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    Field& field = fields_[f];
    require_field(dataset, field);
    if (is_ragged(field)) continue;
    if (field.kind == FieldKind::mask) {
      const Transform& view = options.view(field.view.value_or(0));
      field.shape = {view.height, view.width};
    }
    if (field.type.empty() || !field.shape) complete_array(dataset, field);
    rooms_[f].bytes = transform_detail::array_row_bytes(field);
  }
  if (std::any_of(fields_.begin(), fields_.end(), is_ragged)) {
    measure_ragged(dataset, fields_, options.batch_size, max_deliveries, rooms_);
  }
}

std::uint64_t FieldLayout::row_bytes(const Field& field, const ShardIndex& index, std::uint64_t sample) {
  const auto id = index.field_id(field.source);
  const Extent extent = id ? index.extent(sample, *id) : Extent{};
  if (!extent.present()) return 0;
  const std::uint64_t read =
      extent.length * (index.fields()[*id].codec == Codec::none ? 1 : k_room_per_compressed_byte);
  return is_target(field.kind) ? read * transform_detail::k_target_bytes_per_stored : read;
}

}  // namespace bale::loader_detail

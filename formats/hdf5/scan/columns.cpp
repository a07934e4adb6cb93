#include "bale/formats/hdf5/scan/foreign.hpp"

#include <fmt/format.h>

#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::h5 {
namespace {

/// Whether there is one element per row.
bool is_flat(const InputDataset& dataset) { return dataset.dims.size() >= 1 && dataset.count == dataset.dims[0]; }

}  // namespace

std::string field_of_dataset(const InputDataset& dataset) {
  const std::string name = field_name(dataset.name);
  switch (dataset.kind) {
    case ElementKind::integer:
    case ElementKind::real:
      return dataset.dims.empty() || numpy_type(dataset.type.id()).empty() ? std::string()
                                                                           : fmt::format("{}.{}", name, k_array_field);
    case ElementKind::fixed_string:
    case ElementKind::vlen_string:
      return is_flat(dataset) ? name + ".txt" : std::string();
    case ElementKind::vlen_bytes:
      return is_flat(dataset) ? name : std::string();
    case ElementKind::other:
      return {};
  }
  return {};
}

std::optional<InputDataset> find_row_dataset(const InputFile& file, std::string_view field) {
  for (const std::string& name : file.links("/", k_max_links)) {
    // The name excludes most links. Links that cannot be followed are ignored.
    if (!field.starts_with(field_name(name))) continue;
    try {
      auto dataset = file.find(name);
      if (!dataset || is_vlen(*dataset) || field_of_dataset(*dataset) != field) continue;
      return dataset;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::damaged) throw;
    }
  }
  return std::nullopt;
}

}  // namespace bale::h5

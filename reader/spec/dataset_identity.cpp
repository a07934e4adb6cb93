#include "bale/reader/spec/dataset_identity.hpp"

namespace bale {

void DatasetIdentity::add(const ShardIndex& index) {
  add_number(index.size());
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    add_number(index.key(i).size());
    digest_.update(as_bytes(index.key(i)));
    add_number(static_cast<std::uint64_t>(index.label(i)));
    for (const auto& [field, extent] : index.row(i)) {
      digest_.update(as_bytes(index.fields()[field].name));
      add_number(extent.length);
    }
  }
}

}  // namespace bale

// OwnedSample: a sample that is kept while its Scratch is used again.
//
// Ownership: it has its own memory; copies are deep. Threads: a plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/held.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {

struct OwnedSample {
  struct Field {
    std::string name;
    std::vector<std::byte> bytes;
  };

  std::string key;
  std::int64_t label = k_no_label;
  std::uint32_t width = 0;  // as in SampleView
  std::uint32_t height = 0;
  std::vector<Field> fields;

  OwnedSample() = default;
  /// Copies all that the view shows.
  explicit OwnedSample(const SampleView& sample)
      : key(sample.key), label(sample.label), width(sample.width), height(sample.height) {
    for (const FieldView& field : sample.fields) {
      fields.push_back({std::string(field.name), {field.bytes.begin(), field.bytes.end()}});
    }
  }

  /// The field of this name, or nullptr if the sample does not have it.
  const Field* find(std::string_view name) const BALE_LIFETIMEBOUND {
    for (const Field& field : fields) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }
  /// The bytes of this field: sample["jpg"]. They live as long as the sample. Throws `not_found` if it does not have
  /// it.
  Bytes operator[](std::string_view name) const BALE_LIFETIMEBOUND {
    const Field* const field = find(name);
    return field != nullptr ? Bytes(field->bytes) : SampleView{.key = key}[name];  // which throws
  }
};

}  // namespace bale

#include "bale/formats/shard/owned_sample.hpp"

namespace bale {

Bytes OwnedSample::operator[](std::string_view name) const {
  const Field* const field = find(name);
  return field != nullptr ? Bytes(field->bytes) : SampleView{.key = key}[name];  // which throws
}

}  // namespace bale

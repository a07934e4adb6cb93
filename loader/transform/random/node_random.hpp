// NodeRandom: the random sequences of one transform of a list. They depend on the transform's type and on how many of
// that type come before it, so that adding, removing or moving others does not change what it draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bale/loader/transform/random/streams.hpp"

namespace bale::transform_detail {

/// A number for the name of a transform: FNV-1a.
constexpr std::uint64_t name_number(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  return hash;
}

class NodeRandom {
 public:
  /// `occurrence`: how many transforms of the same name come before it in the list, depth first.
  NodeRandom(const DrawKey& key, std::uint64_t name, std::uint64_t occurrence)
      : key_(key), name_(name), occurrence_(occurrence) {}

  /// The sequence number `part` of this transform.
  KeyedRandom part(std::uint64_t part) const {
    return {key_.seed, key_.epoch, key_.sample, key_.copy, name_, occurrence_, part, key_.view};
  }
  /// The same sequence as train_transform() has for this parameter, for the first transform of its name.
  KeyedRandom train(Stream stream) const {
    return occurrence_ == 0 ? stream_of(key_, stream) : part(static_cast<std::uint64_t>(stream));
  }

 private:
  DrawKey key_;
  std::uint64_t name_;
  std::uint64_t occurrence_;
};

}  // namespace bale::transform_detail

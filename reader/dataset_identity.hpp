// DatasetIdentity: a hash of what a dataset holds, by which states of a training run know it again.
#pragma once

#include <cstdint>
#include <string_view>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

class DatasetIdentity {
 public:
  /// A shard by its digest.
  void add(std::string_view digest_text) {
    digest_.update(as_bytes(digest_text));
    digest_.update(as_bytes("\n"));
  }
  /// A shard by its samples: keys, labels, and the sizes of their fields.
  void add(const ShardIndex& index);
  std::uint64_t value() const {
    const Digest digest = digest_.digest();
    return load_at<std::uint64_t>(std::as_bytes(std::span(digest)).data());
  }

 private:
  void add_number(std::uint64_t number) { digest_.update(std::as_bytes(std::span(&number, 1))); }

  DigestStream digest_;
};

}  // namespace bale

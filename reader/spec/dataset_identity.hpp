// DatasetIdentity: a hash of a dataset's content, by which the saved state of a training run recognizes it.
#pragma once

#include <cstdint>
#include <string_view>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

class DatasetIdentity {
 public:
  /// Adds a shard by its digest.
  void add(std::string_view digest_text) {
    digest_.update(as_bytes(digest_text));
    digest_.update(as_bytes("\n"));
  }
  /// Adds a shard by its samples: keys, labels, and the sizes of their fields.
  void add(const ShardIndex& index) {
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
  std::uint64_t value() const {
    const Digest digest = digest_.digest();
    return load_at<std::uint64_t>(std::as_bytes(std::span(digest)).data());
  }

 private:
  void add_number(std::uint64_t number) { digest_.update(std::as_bytes(std::span(&number, 1))); }

  DigestStream digest_;
};

}  // namespace bale

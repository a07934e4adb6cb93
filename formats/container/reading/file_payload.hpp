// FilePayload: the payload of containers that store fields in the file unchanged. One pread per field.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {

/// Whether all fields are ranges of the file.
inline bool all_are_located(const ShardIndex& index) {
  const auto& fields = index.fields();
  return std::all_of(fields.begin(), fields.end(), [](const FieldInfo& field) { return field.located; });
}

class FilePayload : public Payload {
 public:
  /// Throws what File::open_read() throws.
  explicit FilePayload(const std::string& path) : file_(File::open_read(path)) {}
  void read(std::uint64_t /*sample*/, std::uint32_t /*field*/, const Extent& extent, MutableBytes out) const override {
    file_.read_exact(extent.offset, out);
  }
  std::optional<FileRange> locate(std::uint64_t /*sample*/, std::uint32_t /*field*/,
                                  const Extent& extent) const override {
    return FileRange{extent.offset, extent.length};
  }
  void will_need(const FileRange& range) const override { file_.advise_will_need(range.offset, range.length); }
  bool is_plain() const override { return true; }

 protected:
  File file_;
};

}  // namespace bale

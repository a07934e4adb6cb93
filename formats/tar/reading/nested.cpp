#include "bale/formats/tar/reading/scanner.hpp"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/tar/header/header.hpp"

namespace bale::tar {
namespace {

/// A part of another stream, which must outlive it.
class Slice : public Stream {
 public:
  Slice(const Stream& whole, const Extent& extent) : whole_(whole), begin_(extent.offset), size_(extent.length) {}

  std::uint64_t size() const override { return size_; }
  void read_exact(std::uint64_t offset, MutableBytes out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      throw Error(ErrorCode::damaged, "the archive in the archive ends too early", {.offset = offset});
    }
    whole_.read_exact(begin_ + offset, out);
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint64_t) const override { return std::nullopt; }
  void will_need(const FileRange&) const override {}

  bool is_zip() const {
    std::array<std::byte, 4> first{};
    if (size_ < first.size()) return false;
    read_exact(0, first);
    return as_text(first) == "PK\x03\x04";
  }
  bool is_tar() const {
    std::array<std::byte, k_block_bytes> first;
    if (size_ < first.size()) return false;
    read_exact(0, first);
    return has_good_checksum(first);
  }

 private:
  const Stream& whole_;
  const std::uint64_t begin_;
  const std::uint64_t size_;
};

class Nested {
 public:
  Nested(const Stream& stream, const std::string& path, const ScanArchive& scan, const IndexBuilder& outer)
      : stream_(stream), path_(path), scan_(scan), outer_(outer) {}

  IndexBuilder run() {
    found_.notices() = outer_.notices();
    for (std::uint64_t i = 0; i < outer_.size(); ++i) take_archive(i);
    return std::move(found_);
  }

 private:
  void take_archive(std::uint64_t i) {
    const std::string name(outer_.key(i));
    const Extent extent = outer_.extent(i, 0);
    const Slice slice(stream_, extent);
    IndexBuilder inner;
    try {
      if (!slice.is_tar()) throw Error(ErrorCode::damaged, "is not a tar, as the files before it are");
      if (!scan_(slice, inner)) throw Error(ErrorCode::unsupported, "has members that need libarchive");
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("archive in the archive: {}", error.message()),
                  {.path = path_,
                   .key = name,
                   .offset = extent.offset + error.context().offset.value_or(0),
                   .hint = "unpack the outer archive, and pack what is in it",
                   .system_error = error.context().system_error});
    }
    const ShardIndex samples = ShardIndex::from_bytes(inner.build(slice.size(), std::nullopt, false, path_), path_);
    for (std::uint64_t sample = 0; sample < samples.size(); ++sample) {
      const std::uint64_t added = found_.add_sample(
          keys_.take(fmt::format("{}/{}", name, samples.key(sample)), found_.size()), samples.label(sample));
      for (const auto& [field, place] : samples.row(sample)) {
        set_scanned_field(found_, added, samples.fields()[field], extent.offset + place.offset, place.length,
                          {.path = path_, .offset = extent.offset + place.offset});
      }
    }
    take_notices(inner.notices(), name, extent.offset);
  }

  /// Defects are named by their offsets in the whole stream.
  void take_notices(NoticeLog notices, const std::string& name, std::uint64_t begin) {
    for (const Warning& warning : notices.warnings()) {
      if (warning.kind == WarningKind::defect)
        found_.notices().defect(warning.what, begin + warning.offset.value_or(0));
    }
    notices.drop_defects();
    found_.notices().merge(notices, name);
  }

  const Stream& stream_;
  const std::string& path_;
  const ScanArchive& scan_;
  const IndexBuilder& outer_;
  IndexBuilder found_;
  ForeignKeys keys_;
};

}  // namespace

void open_nested(const Stream& stream, const std::string& path, const ScanArchive& scan, IndexBuilder& index) {
  if (index.size() == 0 || index.fields().size() != 1) return;
  if (index.fields()[0].stored_name() == "zip" && Slice(stream, index.extent(0, 0)).is_zip()) {
    throw Error(ErrorCode::unsupported, fmt::format("a tar of zip archives, such as {}.zip", printable(index.key(0))),
                {.path = path, .hint = "unpack the tar, and pack the zip archives"});
  }
  if (index.fields()[0].stored_name() != "tar") return;
  if (!Slice(stream, index.extent(0, 0)).is_tar()) return;
  index = Nested(stream, path, scan, index).run();
}

}  // namespace bale::tar

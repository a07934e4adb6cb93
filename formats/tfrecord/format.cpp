// The format's descriptor, its probe, and reading the fields.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/formats/tfrecord/example.hpp"
#include "bale/formats/tfrecord/record.hpp"

namespace bale::tfrecord {
namespace {

/// The records of a file up to the first damage, and which of them have been checked.
class CheckedRecords {
 public:
  explicit CheckedRecords(const File& file) {
    FileWindow window(file);
    RecordWalk walk(window);
    Record record;
    try {
      while (walk.next(record)) records_.push_back(record);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      damage_ = error;
    }
    sound_ = std::vector<std::atomic<bool>>(records_.size());
  }

  /// Compares the checksum of the record that has the byte at `offset`, unless this was done before.
  void check(const File& file, std::uint64_t offset) {
    const auto after = std::upper_bound(records_.begin(), records_.end(), offset,
                                        [](std::uint64_t at, const Record& record) { return at < record.offset; });
    const auto number = static_cast<std::size_t>(after - records_.begin());
    if (number == 0 || offset >= records_[number - 1].end()) {
      if (damage_) throw Error(*damage_);
      throw Error(ErrorCode::damaged, "has fewer records than it had", {.path = file.path()});
    }
    if (sound_[number - 1]) return;
    std::vector<std::byte> buffer;
    check_data(file, records_[number - 1], buffer);
    sound_[number - 1] = true;
  }

 private:
  std::vector<Record> records_;
  std::optional<Error> damage_{};
  std::vector<std::atomic<bool>> sound_;
};

class RecordPayload final : public FilePayload {
 public:
  RecordPayload(const std::string& path, const ShardIndex& index)
      : FilePayload(path), index_(index), checks_(!index.has_checksums()) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    if (checks_) {
      std::call_once(walked_, [this] { records_ = std::make_unique<CheckedRecords>(file_); });
      records_->check(file_, extent.offset);
    }
    if (index_.fields()[field].located) return FilePayload::read(sample, field, extent, out);
    FileWindow window(file_);
    const std::string text = feature_text(window, extent.offset);
    if (text.size() != out.size()) {
      throw Error(ErrorCode::damaged, "has other values than its index says", {.path = file_.path()});
    }
    std::copy_n(as_bytes(text).begin(), out.size(), out.begin());
  }
  std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t field, const Extent& extent) const override {
    if (!index_.fields()[field].located) return std::nullopt;
    return FilePayload::locate(sample, field, extent);
  }
  bool is_plain() const override { return !checks_; }

 private:
  const ShardIndex& index_;
  bool checks_;
  mutable std::once_flag walked_;
  mutable std::unique_ptr<CheckedRecords> records_;
};

/// If the index has checksums, fields are read directly from the file. Otherwise the first read of a field in a record
/// also compares the checksum of the record.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  if (index.has_checksums() && all_are_located(index)) return std::make_unique<FilePayload>(path);
  return std::make_unique<RecordPayload>(path, index);
}

/// The offset and size of every record, including its frame, as DALI's and NVIDIA's tfrecord2idx write them.
std::string record_index(const std::string& path, const ShardIndex&) {
  const File file = File::open_read(path);
  FileWindow window(file);
  RecordWalk walk(window);
  Record record;
  std::string text;
  while (walk.next(record)) {
    text += fmt::format("{} {}\n", record.offset, record.end() - record.offset);
  }
  return text;
}

void check(const std::string& path) {
  const File file = File::open_read(path);
  FileWindow window(file);
  RecordWalk walk(window);
  Record record;
  std::vector<std::byte> buffer;
  while (walk.next(record)) check_data(file, record, buffer);
}

constexpr Sidecar k_sidecars[] = {{.suffix = ".idx", .text = record_index, .name = "tfrecord"}};

constexpr Layout k_layouts[] = {{.name = "example",
                                 .suffix = "",
                                 .counted = true,
                                 .compresses_fields = true,
                                 .summary = "tf.train.Example under slim's names; option label-base",
                                 .sidecars = k_sidecars}};

int probe(const ProbeInput& input) {
  if (has_good_header(input.head)) return 90;
  // If the first header is damaged, the file is claimed by its name, so that the error is of this format.
  const std::string_view name = input.path.substr(input.path.rfind('/') + 1);
  const bool called_so = name.find(".tfrecord") != std::string_view::npos || has_shard_name(k_layouts[0], name);
  return called_so && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace
}  // namespace bale::tfrecord

namespace bale {

extern const Format k_tfrecord_format;
const Format k_tfrecord_format{.name = "tfrecord",
                               .layouts = tfrecord::k_layouts,
                               .probe = tfrecord::probe,
                               .scan = tfrecord::scan,
                               .open = tfrecord::open,
                               .create = tfrecord::create,
                               .scan_survives_damage = true,
                               .check = tfrecord::check,
                               .field_rule = tfrecord::k_field_rule};

}  // namespace bale

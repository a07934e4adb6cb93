// SampleLog: the samples of one shard before the shard is written (bale::Writer).
//
// Records are in memory until spill() appends them to a file. The file is a log: each record has a checksum, so that a
// later run takes up everything before the first incomplete record. Formats need sizes before the first sample, which
// is why a shard begins only when all its samples are here.
//
// Memory: the records that were not spilled, and for each sample its key and about 60 bytes.
// Threads: one thread at a time adds, spills and syncs. From then on const methods may be called by many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

// SampleBuffers: memory of samples that waited, for samples that follow. To get new memory from the kernel takes as
// long as to copy samples into it.
//
// Threads: all methods may be called by many threads at once.

class SampleBuffers {
 public:
  static constexpr std::size_t k_chunk_bytes = std::size_t{4} << 20;
  using Chunk = std::unique_ptr<std::byte[]>;  // k_chunk_bytes, not initialized

  /// Keeps up to `kept_bytes` that nobody uses.
  explicit SampleBuffers(std::uint64_t kept_bytes) : max_kept_(kept_bytes / k_chunk_bytes) { kept_.reserve(max_kept_); }

  Chunk take() {
    {
      const std::lock_guard lock(mutex_);
      if (!kept_.empty()) {
        Chunk chunk = std::move(kept_.back());
        kept_.pop_back();
        return chunk;
      }
    }
    return std::make_unique_for_overwrite<std::byte[]>(k_chunk_bytes);
  }

  void give_back(Chunk chunk) noexcept {
    const std::lock_guard lock(mutex_);
    if (kept_.size() < max_kept_) kept_.push_back(std::move(chunk));
  }

 private:
  const std::size_t max_kept_;
  std::mutex mutex_;
  std::vector<Chunk> kept_;
};

class SampleLog {
 public:
  struct Field {
    std::uint32_t name = 0;  // position in names()
    std::uint32_t bytes = 0;
  };

  /// `first` is the number of its first sample in the dataset, `path` the file to spill to. Touches no file.
  SampleLog(std::uint64_t shard, std::uint64_t first, std::string path,
            std::shared_ptr<SampleBuffers> pool = std::make_shared<SampleBuffers>(0))
      : shard_(shard), first_(first), path_(std::move(path)), pool_(std::move(pool)) {}
  ~SampleLog() { free_memory(); }
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  /// Takes up the records in the file, of which there may be none. Returns false if the file is missing or of another
  /// shard. Precondition: nothing was added.
  bool recover();

  /// Precondition: names are unique, and sizes below 4 GiB.
  void add(std::string_view key, std::int64_t label, std::span<const FieldView> fields);
  /// Moves all records from memory to the file. Does not make them durable. After an error it may be called again.
  void spill();
  /// Spills, and makes all records and the file's name durable.
  void sync();
  /// Removes the file, if there is one.
  void remove() noexcept;

  std::uint64_t shard() const { return shard_; }
  std::uint64_t first() const { return first_; }
  std::uint64_t size() const { return rows_.size(); }
  /// Of all fields.
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  /// Names of fields, in order of first appearance.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& path() const { return path_; }

  // Precondition: i < size(). Views of keys live until the next add().
  std::string_view key(std::uint64_t i) const;
  std::int64_t label(std::uint64_t i) const { return rows_[i].label; }
  std::span<const Field> fields(std::uint64_t i) const;
  /// The bytes of all fields of a sample, one after another. Borrows from `scratch` or from this object. Throws
  /// `damaged` if the file no longer holds what was written, and `io`.
  Bytes read(std::uint64_t i, Scratch& scratch) const;

 private:
  struct Row {
    std::uint64_t offset = 0;      // of the record
    std::uint64_t body_bytes = 0;  // of its fields
    std::uint64_t key_begin = 0;
    std::int64_t label = k_no_label;
    std::uint64_t field_begin = 0;
    std::uint32_t head_bytes = 0;  // of the record before its fields
    std::uint32_t key_bytes = 0;
    std::uint32_t num_fields = 0;
  };
  struct Chunk {
    std::uint64_t offset = 0;
    std::unique_ptr<std::byte[]> memory;
    std::size_t used = 0;
    std::size_t capacity = 0;
  };

  std::uint32_t name_id(std::string_view name);
  MutableBytes place(std::size_t bytes);
  void free_memory() noexcept;
  void add_row(std::string_view key, std::int64_t label, std::uint64_t offset, std::uint32_t head_bytes);
  void add_field(std::string_view name, std::uint32_t bytes);
  std::uint64_t recover_record(std::uint64_t offset, std::uint64_t file_bytes, std::vector<std::byte>& buffer);

  std::uint64_t shard_;
  std::uint64_t first_;
  std::string path_;
  std::shared_ptr<SampleBuffers> pool_;
  File file_;
  std::uint64_t spilled_end_ = 0;  // of the file
  std::uint64_t end_ = 0;          // of all records
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<Row> rows_;
  std::vector<Field> fields_;
  std::vector<std::string> names_;
  std::string keys_;
};

// A SampleLog as a Source, so that its shard is written by the code that packs folders.
//
// Threads: as of a Source.

/// Why the image of a sample cannot be packed; empty if it can. Its first field with an image's name is its image.
std::string why_image_is_refused(const SampleView& sample);

class LoggedSource : public Source {
 public:
  /// `fields` has every name of the log, the images first. `classes` must outlive this object.
  LoggedSource(const SampleLog& pending, std::vector<std::string> fields, const std::vector<std::string>& classes);

  std::uint64_t size() const override { return pending_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::uint64_t i) const override { return pending_.label(i); }
  void describe(std::uint64_t i, SourceSample& out) const override;
  SampleView read(std::uint64_t i, Scratch& scratch) const override;
  std::string origin(std::uint64_t i) const override;
  void will_need(std::uint64_t) const override {}
  void fingerprint(std::uint64_t, std::string&) const override {}  // its plan knows no samples
  const NoticeLog& notices() const override { return notices_; }

 private:
  const SampleLog& pending_;
  std::vector<std::string> fields_;
  std::vector<std::uint32_t> ids_;  // by name in the pending
  const std::vector<std::string>& classes_;
  NoticeLog notices_;
};

/// A sample of a Writer in messages: by its number, counted from 0, and its key.
std::string name_of_sample(std::uint64_t number, std::string_view key);

}  // namespace bale

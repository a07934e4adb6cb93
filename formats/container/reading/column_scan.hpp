// ColumnScan: what the scans of formats share in which a sample is one value per column, one after the other (MDS,
// LitData).
//
// For one thread. What it is made of must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/column_roles.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale {

/// `Column` as in column_roles.hpp.
template <typename Column>
class ColumnScan {
 public:
  virtual ~ColumnScan() = default;

  void run(std::uint64_t num_samples) {
    for (number_ = 0; number_ < num_samples; ++number_) {
      values_.clear();
      split_sample();
      const std::optional<std::string> key = own_key();
      sample_ = index_.add_sample(keys_.take(key ? *key : other_key(), number_));
      for (const Value& value : values_) add_value(value);
    }
  }

 protected:
  struct Value {
    const Column* column = nullptr;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
  };

  /// `thing`: what the file is called in errors.
  ColumnScan(const Stream& content, const std::string& path, IndexBuilder& index, std::string_view thing)
      : index_(index), path_(path), thing_(thing), window_(content) {}

  /// Fills values_ with those of sample number_.
  virtual void split_sample() = 0;
  /// Gives the sample the field, or the label, that the value is.
  virtual void add_value(const Value& value) = 0;
  /// Of a sample without a column for its key. Empty: its number.
  virtual std::string other_key() const { return {}; }

  [[noreturn]] void fail(ErrorCode code, std::uint64_t offset, std::string_view what) const {
    throw Error(code, fmt::format("sample {}: {}", number_, what), {.path = path_, .offset = offset});
  }

  Bytes bytes_at(std::uint64_t offset, std::size_t length) {
    const Bytes found = window_.from(offset, length);
    if (found.size() < length) fail(ErrorCode::damaged, offset, fmt::format("the {} ends too early", thing_));
    return found.first(length);
  }

  /// At most `length` bytes of the value's front.
  Bytes front_of(const Value& value, std::size_t length) {
    return bytes_at(value.offset, std::min<std::size_t>(value.length, length));
  }

  static constexpr std::size_t k_head = 512;

  /// By the first bytes.
  ImageKind image_kind_of(const Value& value) { return probe_image(front_of(value, k_head)).kind; }

  void set_field(const Value& value, std::string name, std::uint64_t length, bool located) {
    set_scanned_field(index_, sample_, {.name = std::move(name), .located = located}, value.offset, length,
                      {.path = path_, .offset = value.offset});
  }

  IndexBuilder& index_;
  const std::string& path_;
  std::vector<Value> values_{};  // of the sample
  std::uint64_t number_ = 0;     // of the sample in the file
  std::uint64_t sample_ = 0;     // in the index

 private:
  /// What a column with the role says; nullopt without one.
  std::optional<std::string> own_key() {
    for (const Value& value : values_) {
      if (value.column->role != Role::key && value.column->role != Role::file_name) continue;
      if (value.length > StreamWindow::k_bytes) {
        fail(ErrorCode::unsupported, value.offset, "has a key of more than 4 KiB");
      }
      std::string text(as_text(bytes_at(value.offset, value.length)));
      return value.column->role == Role::key ? text : key_of_file(text);
    }
    return std::nullopt;
  }

  const std::string_view thing_;
  StreamWindow window_;
  ForeignKeys keys_;
};

}  // namespace bale

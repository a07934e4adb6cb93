// The rules for samples that a program hands over: keys, names of fields, labels.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/sample.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

/// The names of fields as they are stored, each checked once. Used by one thread at a time.
class FieldNames {
 public:
  /// `options` must outlive this object.
  explicit FieldNames(const PackOptions& options) : options_(options) {}

  /// Lives as long as this object. Throws `invalid_argument` for what cannot name a field of the sample with this key.
  const std::string& stored(std::string_view name, const std::string& key);

 private:
  struct Name {
    std::string given;
    std::string stored;
  };
  const PackOptions& options_;
  std::deque<Name> names_;
};

/// A sample as it is stored. Borrows the bytes and names of fields; digits are its own. Not copied, because views point
/// into it.
class CheckedSample {
 public:
  /// Throws `invalid_argument` for a sample that breaks a rule, and `damaged` if its image is none and the policy is
  /// OnError::fail.
  CheckedSample(const PackOptions& options, const std::vector<std::string>& classes, FieldNames& names,
                std::string_view key, std::span<const FieldView> fields, std::int64_t label);
  CheckedSample(const CheckedSample&) = delete;
  CheckedSample& operator=(const CheckedSample&) = delete;

  const std::string& key() const { return key_; }
  /// Whether that is not the key as it was given.
  bool is_encoded() const { return is_encoded_; }
  std::int64_t label() const { return label_; }
  std::span<const FieldView> fields() const { return fields_; }
  std::uint64_t payload_bytes() const;

 private:
  void take_fields(FieldNames& names, std::span<const FieldView> fields);
  void take_label(const std::vector<std::string>& classes);
  [[noreturn]] void refuse(std::string_view why, std::string_view hint = {}) const;

  std::string key_;
  bool is_encoded_;
  std::int64_t label_;
  std::string digits_;
  std::vector<FieldView> fields_;
};

/// The key as the layout stores it. Throws `invalid_argument`.
std::string stored_key(const Layout& layout, std::string_view key);

}  // namespace bale

// The rules for samples that a program hands over: keys, names of fields, labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/sample.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

/// A sample as it is stored. Borrows the bytes of fields; names and digits are its own. Not copied, because views point into
/// it.
class CheckedSample {
 public:
  /// Throws `invalid_argument` for a sample that breaks a rule, and `damaged` if its image is none and the policy is
  /// OnError::fail.
  CheckedSample(const PackOptions& options, const std::vector<std::string>& classes, std::string_view key,
                std::span<const FieldView> fields, std::int64_t label);
  CheckedSample(const CheckedSample&) = delete;
  CheckedSample& operator=(const CheckedSample&) = delete;

  const std::string& key() const { return key_; }
  /// Whether that is not the key as it was given.
  bool is_encoded() const { return is_encoded_; }
  std::int64_t label() const { return label_; }
  std::span<const FieldView> fields() const { return fields_; }
  std::uint64_t payload_bytes() const;

 private:
  void take_fields(const PackOptions& options, std::span<const FieldView> fields);
  void take_label(const std::vector<std::string>& classes);
  [[noreturn]] void refuse(std::string_view why, std::string_view hint = {}) const;

  std::string key_;
  bool is_encoded_;
  std::int64_t label_;
  std::vector<std::string> names_;
  std::string digits_;
  std::vector<FieldView> fields_;
};

/// The key as the layout stores it. Throws `invalid_argument`.
std::string stored_key(const Layout& layout, std::string_view key);

}  // namespace bale

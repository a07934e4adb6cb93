#include "bale/formats/shard/field_rule.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/utf8.hpp"

namespace bale {

FieldInfo field_of_stored_name(std::string_view stored_name) {
  constexpr std::string_view k_zstd_suffix = ".zst";
  FieldInfo field;
  if (stored_name.size() > k_zstd_suffix.size() && stored_name.ends_with(k_zstd_suffix)) {
    stored_name.remove_suffix(k_zstd_suffix.size());
    field.codec = Codec::zstd;
  }
  field.name = stored_name;
  return field;
}

Codec least_codec(const FieldRule& rule, std::string_view name) {
  return rule.marks_compressed ? field_of_stored_name(name).codec : Codec::none;
}

std::string why_stored_name_is_refused(const FieldRule& rule, std::string_view stored_name) {
  if (stored_name.empty() && !rule.may_be_empty) return "it is empty";
  if (stored_name.size() > rule.max_bytes) {
    return fmt::format("it has {} bytes, more than {}", stored_name.size(), rule.max_bytes);
  }
  const std::size_t bad = stored_name.find_first_of(rule.forbidden);
  if (bad != std::string_view::npos) {
    return stored_name[bad] == '\0' ? "it has a NUL" : fmt::format("it has a \"{}\"", stored_name[bad]);
  }
  if (std::find(rule.reserved.begin(), rule.reserved.end(), stored_name) != rule.reserved.end()) {
    return "the container uses this name for something else";
  }
  if (rule.is_utf8 && !is_utf8(stored_name)) return "it is not UTF-8";
  if (rule.is_lower_case && lower_case(stored_name) != stored_name) return "it has capital letters";
  return {};
}

std::string why_field_is_refused(const FieldRule& rule, const FieldInfo& field) {
  const std::string stored = field.stored_name();
  std::string why = why_stored_name_is_refused(rule, stored);
  if (!why.empty() || !rule.marks_compressed) return why;
  const FieldInfo found = field_of_stored_name(stored);
  if (found.name != field.name || found.codec != field.codec) {
    return fmt::format("without an index it would be read as field \"{}\"{}", printable(found.name),
                       found.codec == Codec::zstd ? ", compressed" : "");
  }
  return {};
}

}  // namespace bale

#include "bale/formats/shard/field_rule.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

struct StoredCodec {
  std::string_view name;
  std::string_view suffix;
};

constexpr std::array<StoredCodec, 3> k_codecs{{{"none", ""}, {"zstd", ".zst"}, {"planes", ".bjp"}}};

const StoredCodec& stored_codec(Codec codec) { return k_codecs[static_cast<std::size_t>(codec)]; }

}  // namespace

std::string_view name_of(Codec codec) { return stored_codec(codec).name; }

std::string FieldInfo::stored_name() const { return name + std::string(stored_codec(codec).suffix); }

FieldInfo field_of_stored_name(std::string_view stored_name, bool marks_compressed) {
  const auto is_stored_as = [&](Codec codec) {
    const std::string_view suffix = stored_codec(codec).suffix;
    return stored_name.size() > suffix.size() && stored_name.ends_with(suffix);
  };
  Codec codec = Codec::none;
  if (is_stored_as(Codec::zstd) && marks_compressed) codec = Codec::zstd;
  if (is_stored_as(Codec::planes)) codec = Codec::planes;
  const std::string_view name = stored_name.substr(0, stored_name.size() - stored_codec(codec).suffix.size());
  if (codec == Codec::planes && !is_jpeg_field(name)) return {.name = std::string(stored_name)};
  return {.name = std::string(name), .codec = codec};
}

Codec least_codec(const FieldRule& rule, std::string_view name) {
  return field_of_stored_name(name, rule.marks_compressed).codec == Codec::none ? Codec::none : Codec::zstd;
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
  if (!why.empty() || (field.codec == Codec::zstd && !rule.marks_compressed)) return why;
  const FieldInfo found = field_of_stored_name(stored, rule.marks_compressed);
  if (found.name != field.name || found.codec != field.codec) {
    return fmt::format("without an index it would be read as field \"{}\"{}", printable(found.name),
                       found.codec == Codec::none ? "" : ", compressed");
  }
  return {};
}

}  // namespace bale

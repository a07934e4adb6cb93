#include "bale/formats/tar/grouper.hpp"

#include <limits>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/key.hpp"

namespace bale::tar {
namespace {

/// An integer with white space around it; anything longer is no label.
constexpr std::uint64_t k_max_label_bytes = 64;

}  // namespace

bool is_sample_member(std::string_view name, std::uint64_t size, const std::string& path) {
  if (is_reserved_member(name) || !split_member_name(name)) return false;
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, fmt::format("member of {} bytes; fields of 4 GiB and more are not read", size),
                {.path = path, .key = std::string(split_member_name(name)->key)});
  }
  return true;
}

std::uint32_t Grouper::field_of(std::string_view extension) {
  for (const auto& [spelled, field] : known_) {
    if (spelled == extension) return field;
  }
  const std::string name = field_name(extension);
  try {
    const auto found = index_.field_id(name);
    const std::uint32_t field = found ? *found : index_.add_field(name);
    known_.emplace_back(extension, field);
    return field;
  } catch (const Error& error) {
    // What is a wrong argument to the index is, here, an archive it cannot hold.
    throw Error(ErrorCode::unsupported, error.message(), {.path = path_, .key = key_, .hint = error.context().hint});
  }
}

bool Grouper::add(std::string_view name, std::uint64_t offset, std::uint64_t size) {
  const auto parts = split_member_name(name);
  if (index_.size() == 0 || parts->key != key_) {
    key_ = parts->key;
    sample_ = index_.add_sample(key_);
  }
  const std::uint32_t field = field_of(parts->extension);
  if (index_.extent(sample_, field).present()) {
    throw Error(ErrorCode::damaged, fmt::format("repeated field \"{}\"", printable(index_.fields()[field].name)),
                {.path = path_, .key = key_, .offset = offset, .hint = "a sample can have a field once"});
  }
  index_.set_extent(sample_, field, offset, static_cast<std::uint32_t>(size));
  return index_.fields()[field].name == k_label_field && size <= k_max_label_bytes;
}

void Grouper::set_label(Bytes cls) { index_.set_label(sample_, parse_label(cls)); }

}  // namespace bale::tar

#include "bale/formats/core/shard_scanning.hpp"

#include <limits>

#include <fmt/format.h>

namespace bale {

FieldInfo field_of_stored_name(std::string_view stored_name) {
  constexpr std::string_view k_zstd_suffix = ".zst";
  FieldInfo field;
  if (stored_name.ends_with(k_zstd_suffix)) {
    stored_name.remove_suffix(k_zstd_suffix.size());
    field.codec = Codec::zstd;
  }
  field.name = stored_name;
  return field;
}

void set_scanned_field(IndexBuilder& index, std::uint64_t sample, const FieldInfo& field, std::uint64_t offset,
                       std::uint64_t length, const ErrorContext& where) {
  const auto fail = [&](ErrorCode code, std::string_view what, std::string_view hint) {
    ErrorContext context = where;
    context.key = index.key(sample);
    context.hint = hint;
    throw Error(code, what, std::move(context));
  };
  const std::string name = field.stored_name();
  if (length > std::numeric_limits<std::uint32_t>::max()) {
    fail(ErrorCode::unsupported, fmt::format("field \"{}\" has {} bytes, 4 GiB or more", printable(name), length), "");
  }
  auto id = index.stored_field_id(name);
  try {
    if (!id) id = index.add_field(field.name, field.codec, field.located);
  } catch (const Error& error) {
    // What is a wrong argument to the index is, here, a container that it cannot hold.
    fail(ErrorCode::unsupported, error.message(), error.context().hint);
  }
  if (index.extent(sample, *id).present()) {
    fail(ErrorCode::damaged, fmt::format("repeated field \"{}\"", printable(name)), "a sample can have a field once");
  }
  index.set_extent(sample, *id, offset, static_cast<std::uint32_t>(length));
}

}  // namespace bale

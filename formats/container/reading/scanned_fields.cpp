#include "bale/formats/container/reading/scanned_fields.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

namespace bale {

std::uint32_t declare_field(IndexBuilder& index, const FieldInfo& field, const std::string& path,
                            std::string_view key) {
  try {
    const auto known = index.stored_field_id(field.stored_name());
    return known ? *known : index.add_field(field.name, field.codec, field.located);
  } catch (const Error& error) {
    // A wrong argument to the index means here that the index cannot hold the container.
    throw Error(ErrorCode::unsupported, error.message(),
                {.path = path, .key = std::string(key), .hint = error.context().hint});
  }
}

void set_scanned_field(IndexBuilder& index, std::uint64_t sample, const FieldInfo& field, std::uint64_t offset,
                       std::uint64_t length, const ErrorContext& where) {
  const auto fail = [&](ErrorCode code, std::string_view what, std::string_view hint) {
    ErrorContext context = where;
    context.key = index.key(sample);
    context.hint = hint;
    throw Error(code, what, std::move(context));
  };
  if (length > std::numeric_limits<std::uint32_t>::max()) {
    fail(ErrorCode::unsupported,
         fmt::format("field \"{}\" has {} bytes, 4 GiB or more", printable(field.stored_name()), length), "");
  }
  const std::uint32_t id = declare_field(index, field, where.path, index.key(sample));
  if (index.extent(sample, id).present()) {
    fail(ErrorCode::damaged, fmt::format("repeated field \"{}\"", printable(field.stored_name())),
         "a sample can have a field once");
  }
  index.set_extent(sample, id, offset, static_cast<std::uint32_t>(length));
}

}  // namespace bale

#include "bale/formats/container/writing/written_fields.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"

namespace bale {
namespace {

constexpr std::size_t k_shown_name = 80;

}  // namespace

void check_fields(const SampleView& sample, const FieldRule& rule, const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_argument, why, {.path = path, .key = std::string(sample.key)});
  };
  if (sample.fields.empty()) refuse("sample without fields");
  for (std::size_t i = 0; i < sample.fields.size(); ++i) {
    const FieldView& field = sample.fields[i];
    if (const std::string why = why_stored_name_is_refused(rule, field.name); !why.empty()) {
      refuse(fmt::format("field name \"{}\" cannot be stored: {}", excerpt(printable(field.name), k_shown_name), why));
    }
    if (field.bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
      refuse(fmt::format("field \"{}\" has {} bytes, 4 GiB or more", printable(field.name), field.bytes.size()));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (sample.fields[j].name == field.name) refuse(fmt::format("repeated field \"{}\"", printable(field.name)));
    }
  }
}

void WrittenExtents::add(std::string_view stored_name, std::uint64_t offset, std::uint64_t length) {
  const auto found = std::find(columns_.begin(), columns_.end(), stored_name);
  const auto column = static_cast<std::uint32_t>(found - columns_.begin());
  if (found == columns_.end()) columns_.emplace_back(stored_name);
  rows_.push_back({offset, static_cast<std::uint32_t>(length), column});
}

void WrittenExtents::set_on(IndexBuilder& index, const std::string& path) const {
  std::vector<std::uint32_t> ids;
  for (const std::string& column : columns_) {
    const auto id = index.stored_field_id(column);
    if (!id) {
      throw Error(ErrorCode::invalid_argument, fmt::format("the index has no field \"{}\"", printable(column)),
                  {.path = path});
    }
    ids.push_back(*id);
  }
  std::size_t row = 0;
  for (std::uint64_t sample = 0; sample < sample_ends_.size(); ++sample) {
    for (; row < sample_ends_[sample]; ++row) {
      index.set_extent(sample, ids[rows_[row].column], rows_[row].offset, rows_[row].length);
    }
  }
}

void check_format_options(const WriterOptions& options, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : options.format_options) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("layout {} has no option \"{}\"", options.layout, printable(name)),
                {.hint = known.empty() ? "it has none" : fmt::format("it has: {}", joined(known))});
  }
}

std::int64_t number_option(const WriterOptions& options, const std::string& name, std::int64_t fallback,
                           std::int64_t low, std::int64_t high) {
  const auto found = options.format_options.find(name);
  if (found == options.format_options.end()) return fallback;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    using Limits = std::numeric_limits<std::int64_t>;
    const bool is_limited = low != Limits::min() || high != Limits::max();
    throw Error(ErrorCode::invalid_argument, fmt::format("`{}` is \"{}\", not a whole number{}", name, printable(text),
                                                         is_limited ? fmt::format(" from {} to {}", low, high) : ""));
  }
  return value;
}

}  // namespace bale

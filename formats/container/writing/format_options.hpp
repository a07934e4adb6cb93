// Format options: texts that are passed to a writer by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/format.hpp"

namespace bale {

/// Throws `invalid_argument` if an option is not in `known`.
void check_format_options(const WriterOptions& options, const std::vector<std::string_view>& known);

/// The value of a numeric option, `fallback` if it is not set. Throws `invalid_argument` for anything but a whole
/// number from `low` to `high`.
std::int64_t number_option(const WriterOptions& options, const std::string& name, std::int64_t fallback,
                           std::int64_t low, std::int64_t high);

}  // namespace bale

// The options of formats: texts that a writer is given by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/format.hpp"

namespace bale {

/// Throws `invalid_argument` if an option that was given is none of `known`.
void check_format_options(const WriterOptions& options, const std::vector<std::string_view>& known);

/// The number that an option gives, `fallback` if it was not given. Throws `invalid_argument` for anything else than a
/// whole number from `low` to `high`.
std::int64_t number_option(const WriterOptions& options, const std::string& name, std::int64_t fallback,
                           std::int64_t low, std::int64_t high);

}  // namespace bale

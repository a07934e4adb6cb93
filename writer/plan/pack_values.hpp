// Parses the values of options of packing, and names the formats and layouts of this build for help texts. Pure
// functions. Each that parses throws `invalid_argument` with one line that names the option and the accepted values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/writer/packer.hpp"
#include "bale/writer/source/sample_draw.hpp"

namespace bale {

/// "train=0.95,val=0.05": names fit for a directory, fractions above 0 that sum to 1.
std::vector<Split> parse_splits(std::string_view option, std::string_view text);

/// "1000", or "5%", "0.5%": more than 0 and at most 100%. Sets `count` or `fraction`.
void parse_sample(std::string_view option, std::string_view text, SampleDraw& out);

/// "zstd" or "zstd:LEVEL" with a level of 1..19.
int parse_compression(std::string_view option, std::string_view text);

/// "fail", "skip" or "quarantine".
OnError parse_on_error(std::string_view option, std::string_view text);

/// "0/16" to "15/16".
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_part(std::string_view option, std::string_view text);

/// "3,17,20..25": numbers, and ranges with both ends.
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(std::string_view option, std::string_view text);

/// "A|B|C": the formats that bale writes, in the order of the registry.
std::string format_choices();
/// The layouts of all formats in the same form, each name once.
std::string layout_choices();
}  // namespace bale

// What is said about a source or dataset, one line each: what was not taken or used, and bad images.
//
// Pure functions, safe in any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/base/options/option_names.hpp"
#include "bale/reader/image_conditions.hpp"
#include "bale/reader/where.hpp"

namespace bale {

using Lines = std::vector<std::string>;

/// One line per reason, with the number of `noun`s and an example, and one line per warning.
Lines notice_lines(const NoticeLog& notices, const std::string& noun, const OptionNames& options);

/// `strict`: throws `unsupported` if there is anything that no option asked for. Call it before anything is written.
void require_all_taken(const NoticeLog& notices, const std::string& noun);

/// How many samples a condition left out, and why; empty if there are none.
Lines where_lines(const WhereCounts& counts);

/// Maximum number of bad images that are named.
inline constexpr std::size_t k_max_named_images = 10;
/// One line per named image that cannot be decoded, and one line for the rest.
Lines unusable_image_lines(const ImageConditions& conditions, const OptionNames& options);

}  // namespace bale

// Prints what was not taken or used, and bad images, on standard error, also with --quiet.
#pragma once

#include <string>

#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/image_conditions.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

/// Prints one line per reason, with the number of `noun`s and an example, and one line per warning.
void show_notices(const NoticeLog& notices, const std::string& noun, Terminal& terminal);

/// --strict: throws `unsupported` if there is anything that no option asked for. Call it before anything is written.
void require_all_taken(const NoticeLog& notices, const std::string& noun);

/// Maximum number of bad images that are named.
inline constexpr std::size_t k_max_named_images = 10;
/// Prints one line per named image that cannot be decoded, and one line for the rest.
void show_flawed_images(const ImageConditions& conditions, Terminal& terminal);

}  // namespace bale::tools

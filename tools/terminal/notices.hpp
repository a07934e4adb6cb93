// What was ignored, as lines on standard error.
#pragma once

#include <string>

#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/image_conditions.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

/// One line per reason, with the number of `noun`s and an example, and one line per warning.
void show_notices(const NoticeLog& notices, const std::string& noun, Terminal& terminal);

/// Images that are named when an index has been made.
inline constexpr std::size_t k_max_named_images = 10;
/// One line per image that cannot be decoded, as far as they are named, and one for the rest.
void show_flawed_images(const ImageConditions& conditions, Terminal& terminal);

}  // namespace bale::tools

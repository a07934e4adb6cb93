// What was passed over, as lines on standard error.
#pragma once

#include <string>

#include "bale/formats/core/notice_log.hpp"
#include "bale/tools/terminal.hpp"

namespace bale::tools {

/// One line per reason, with the number of `noun`s and an example, and one line per warning.
void show_notices(const NoticeLog& notices, const std::string& noun, Terminal& terminal);

}  // namespace bale::tools

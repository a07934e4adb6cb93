// Options that a source does not use. Each source declares those that it does.
#pragma once

#include <initializer_list>
#include <string_view>

#include "bale/formats/base/notice_log.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// Adds a notice for each given option of `options` that is none of `used` (names of members). `place` is the path of
/// the source, and `why` follows "has no effect: ", such as "this is a list of files". Of `include`, `exclude` and
/// `kind`, which every source uses, nothing is said.
void tell_unused_options(const SourceOptions& options, std::initializer_list<std::string_view> used,
                         std::string_view why, std::string_view place, NoticeLog& notices);

}  // namespace bale

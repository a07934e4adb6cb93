// JSON files that list images by class, as Food-101's meta/train.json: {"class": ["class/id", ...], ...}.
//
// For one thread.
#pragma once

#include <memory>
#include <string>

#include "bale/writer/source/source.hpp"

namespace bale {

/// Whether a file is named as JSON and begins as such lists do. Throws `io`.
bool is_class_lists(const std::string& path);

/// Opens such a file. Samples come by the names of their classes, those of a class in the order of its list; paths are
/// those of open_list_source(). Throws `damaged` for a file that continues in another way, and what open_list_source()
/// throws.
std::unique_ptr<Source> open_class_lists(const std::string& path, const SourceOptions& options);

}  // namespace bale

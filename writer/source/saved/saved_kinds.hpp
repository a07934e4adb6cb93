// The two kinds of saved sources, and what their heads have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/json/json.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace bale {

inline constexpr const char* k_saved_files = "files";
inline constexpr const char* k_saved_packed = "packed";

/// Both throw `damaged` for a head of another form.
std::unique_ptr<SavedSource> open_saved_files(const Json& head);
std::unique_ptr<SavedSource> open_saved_packed(const Json& head);

Json losses_to_json(const std::vector<SourceLoss>& losses);
std::vector<SourceLoss> losses_from_json(const std::vector<Json>& list);

}  // namespace bale

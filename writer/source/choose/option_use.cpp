#include "bale/writer/source/choose/chosen_source.hpp"

#include <algorithm>
#include <utility>

namespace bale {

void tell_unused_options(const SourceOptions& options, std::initializer_list<std::string_view> used,
                         std::string_view why, std::string_view place, NoticeLog& notices) {
  const std::pair<std::string_view, bool> given[] = {
      {"class_map", !options.class_map.empty()},
      {"pair", !options.pair.empty()},
      {"pair_path", !options.pair_path.empty()},
      {"annotations", !options.annotations.empty()},
      {"annotations_format", !options.annotations_format.empty()},
      {"allow_empty", options.allow_empty},
      {"allow_unlabeled", options.allow_unlabeled && !options.are_shared},
      {"path_column", !options.path_column.empty()},
      {"path_pattern", !options.path_pattern.empty()},
      {"label_column", !options.label_column.empty()},
      {"root", !options.root.empty()},
      {"null", options.nul_separated},
      {"class_folders", options.class_folders},
      {"flat", options.flat},
      {"keep_extensions", options.keep_extensions},
      {"list_jobs", options.list_jobs != 0}};
  for (const auto& [name, is_given] : given) {
    if (is_given && std::find(used.begin(), used.end(), name) == used.end()) notices.no_effect(name, why, place);
  }
}

}  // namespace bale

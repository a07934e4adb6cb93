#include "bale/writer/source/choose/chosen_source.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "bale/writer/source/choose/source_table.hpp"

namespace bale {

void tell_unused_options(const SourceOptions& options, std::initializer_list<std::string_view> used,
                         std::string_view why, std::string_view place, NoticeLog& notices) {
  constexpr std::string_view k_of_all[] = {"include", "exclude"};
  for (const std::string& name : given_source_options(options, false)) {
    const bool is_fine = std::find(std::begin(k_of_all), std::end(k_of_all), name) != std::end(k_of_all) ||
                         std::find(used.begin(), used.end(), name) != used.end() ||
                         (options.are_shared && name == "allow_unlabeled");
    if (!is_fine) notices.no_effect(name, why, place);
  }
}

}  // namespace bale

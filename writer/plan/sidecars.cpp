#include "bale/writer/plan/sidecars.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/registry/registry.hpp"

namespace bale {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_names(const Layout& layout, std::vector<std::string>& names) {
  for (const Sidecar& sidecar : layout.sidecars) {
    if (!sidecar.name.empty() && !contains(names, sidecar.name)) names.emplace_back(sidecar.name);
  }
  for (const ShardList& list : layout.lists) {
    if (!contains(names, list.name)) names.emplace_back(list.name);
  }
}

}  // namespace

std::vector<Sidecar> sidecars_of(const Layout& layout, const std::vector<std::string>& names) {
  std::vector<Sidecar> sidecars;
  std::copy_if(layout.sidecars.begin(), layout.sidecars.end(), std::back_inserter(sidecars),
               [&](const Sidecar& sidecar) { return sidecar.always || contains(names, sidecar.name); });
  return sidecars;
}

std::vector<ShardList> lists_of(const Layout& layout, const std::vector<std::string>& names) {
  std::vector<ShardList> lists;
  std::copy_if(layout.lists.begin(), layout.lists.end(), std::back_inserter(lists),
               [&](const ShardList& list) { return contains(names, list.name); });
  return lists;
}

void check_sidecars(const FormatAndLayout& format, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  add_names(*format.layout, known);
  for (const std::string& name : names) {
    if (contains(known, name)) continue;
    const std::string has = known.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(known, ", "));
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}.{} has no sidecar \"{}\"", format.format->name, format.layout->name, printable(name)),
                {.hint = has});
  }
}

std::string sidecar_choices() {
  std::vector<std::string> names;
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) add_names(layout, names);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace bale

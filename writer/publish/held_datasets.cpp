#include "bale/writer/publish/held_datasets.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/publish/removal_list.hpp"

namespace bale {
namespace {

std::string path_of_place(const HeldDatasets& held, const std::string& place) {
  return place.empty() ? held.destination : join_path(held.destination, place);
}

const char* noun_of(const HeldDatasets& held) { return is_object_store(held.destination) ? "prefix" : "directory"; }

/// Empty if the manifest cannot be read.
std::string name_in(const HeldDatasets& held, const std::string& place) {
  try {
    return held.load(place).name;
  } catch (const Error& error) {
    if (is_lack_of_resources(error) || error.code() == ErrorCode::interrupted) throw;
    return {};
  }
}

/// Whether the new dataset remembers all that this one does.
bool keeps_removals(const Plan& plan, const std::string& directory, const Manifest& manifest) {
  RemovalList forgotten = RemovalList::load(directory, manifest);
  for (const NewFile& file : plan.files) forgotten.subtract(RemovalList::parse(file.text));
  return forgotten.empty();
}

}  // namespace

bool HeldDatasets::has(const std::string& place) const {
  return std::find(places.begin(), places.end(), place) != places.end();
}

void require_empty(const Plan& plan, const HeldDatasets& held) {
  if (held.names.empty()) return;
  const char* const noun = noun_of(held);
  for (const PlannedDataset& planned : plan.datasets) {
    if (!held.has(planned.subdirectory)) continue;
    const std::string path = path_of_place(held, planned.subdirectory);
    const std::string name = name_in(held, planned.subdirectory);
    if (name.empty() || name == planned.name) {
      throw Error(
          ErrorCode::exists, "is not empty: it holds a packed dataset",
          {.path = path, .hint = fmt::format("choose another {}, or replace that dataset with `overwrite`", noun)});
    }
    std::string hint = fmt::format("choose another {}", noun);
    if (planned.subdirectory.empty()) {
      hint += fmt::format(", or replace that dataset with `overwrite` and the `name` {}", printable(name));
    }
    throw Error(ErrorCode::exists, fmt::format("is not empty: it holds a packed dataset, \"{}\"", printable(name)),
                {.path = path, .hint = std::move(hint)});
  }
  if (!held.places.empty()) {
    throw Error(ErrorCode::exists, "is not empty: it holds other packed datasets",
                {.path = held.destination,
                 .hint = fmt::format("choose a {} of its own, such as {}", noun,
                                     printable(join_path(held.destination, plan.datasets.front().name)))});
  }
  throw Error(ErrorCode::exists, fmt::format("is not empty: it holds {}", printable(held.names.front())),
              {.path = held.destination,
               .hint = fmt::format("choose another {}; `overwrite` would pack next to what is there", noun)});
}

std::vector<OldDataset> datasets_to_replace(const Plan& plan, const HeldDatasets& held) {
  const bool has_splits = !plan.datasets.front().subdirectory.empty();
  if (has_splits && held.has({})) {
    throw Error(ErrorCode::exists,
                fmt::format("holds the dataset \"{}\", which readers of this {} would find instead of the splits",
                            printable(name_in(held, {})), noun_of(held)),
                {.path = held.destination,
                 .hint = fmt::format("choose another {} for the splits, or move that dataset away", noun_of(held))});
  }
  std::vector<OldDataset> found;
  for (const PlannedDataset& planned : plan.datasets) {
    if (!held.has(planned.subdirectory)) continue;
    Manifest manifest = held.load(planned.subdirectory);
    if (manifest.name != planned.name) {
      std::string hint = fmt::format("choose another {}", noun_of(held));
      if (!has_splits) hint += fmt::format(", or give the `name` {} to replace that dataset", printable(manifest.name));
      throw Error(
          ErrorCode::exists,
          fmt::format("holds the dataset \"{}\", not \"{}\"", printable(manifest.name), printable(planned.name)),
          {.path = path_of_place(held, planned.subdirectory), .hint = std::move(hint)});
    }
    if (const std::vector<std::string> earlier = held.replaced_versions(planned.subdirectory); !earlier.empty()) {
      throw Error(
          ErrorCode::exists,
          fmt::format("holds {} of the dataset, such as {}, which could not be read any more",
                      plural(earlier.size(), "earlier version"), earlier.front()),
          {.path = path_of_place(held, planned.subdirectory),
           .hint = is_object_store(held.destination)
                       ? fmt::format("remove the objects in {}/ first, or choose another prefix", k_versions_name)
                       : "remove them with `bale log DST --prune --keep 1` first, or choose another directory"});
    }
    if (!manifest.removals.empty() && !keeps_removals(plan, path_of_place(held, planned.subdirectory), manifest)) {
      throw Error(
          ErrorCode::exists, "remembers samples that were removed, which this could pack again",
          {.path = path_of_place(held, planned.subdirectory),
           .hint = "pack into another directory, and remove them there: `bale log --removed DST` prints the list, and "
                   "`bale remove OTHER --from FILE` takes it"});
    }
    found.push_back({planned.subdirectory, std::move(manifest)});
  }
  return found;
}

std::string datasets_that_stay(const Plan& plan, const HeldDatasets& held) {
  std::vector<std::string> stay = held.places;
  std::erase_if(stay, [&](const std::string& place) {
    return place.empty() || std::any_of(plan.datasets.begin(), plan.datasets.end(),
                                        [&](const PlannedDataset& planned) { return planned.subdirectory == place; });
  });
  if (stay.empty()) return {};
  const std::string more = stay.size() == 1 ? "" : fmt::format(" and {} more", stay.size() - 1);
  return fmt::format("{} holds other datasets, which stay: {}{}", shown_name(held.destination), printable(stay.front()),
                     more);
}

}  // namespace bale

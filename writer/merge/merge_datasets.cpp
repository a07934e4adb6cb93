#include "bale/writer/merge_datasets.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/local_name.hpp"
#include "bale/writer/merge/join.hpp"

namespace bale {

PackReport merge_datasets(const DatasetMergeOptions& options, Progress& progress) {
  require_local_name(options.destination, NameUse::writing);
  const std::vector<FinishedDataset> datasets = load_finished(options.sources);
  if (datasets.empty()) throw Error(ErrorCode::invalid_argument, "nothing to merge: no dataset is named");
  return join_datasets(datasets,
                       {.destination = options.destination,
                        .name = options.name,
                        .link = options.link,
                        .jobs = options.jobs,
                        .mode = options.mode,
                        .on_warning = options.on_warning},
                       progress);
}

}  // namespace bale

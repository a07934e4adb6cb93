#include "bale/writer/packer.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/local_name.hpp"
#include "bale/formats/storage/object_store.hpp"
#include "bale/formats/storage/url_storage.hpp"
#include "bale/writer/apart.hpp"
#include "bale/writer/objects/object_pack.hpp"
#include "bale/writer/pack_run.hpp"
#include "bale/writer/shard_job.hpp"

namespace bale {

std::string_view on_error_name(OnError policy) {
  switch (policy) {
    case OnError::fail:
      return "fail";
    case OnError::skip:
      return "skip";
    case OnError::quarantine:
      return "quarantine";
  }
  return "unknown";
}

PackPreview preview_pack(const Source& source, const PackOptions& options) {
  use_url_storage();
  require_local_name(options.destination, NameUse::packing);
  if (is_object_store(options.destination)) {
    require_object_options(source.places(), options);
  } else {
    require_all_apart(source.places(), options.destination);
  }
  PackPreview preview;
  for (const PlannedDataset& dataset : make_plan(source, options).datasets) {
    for (const PlannedShard& shard : dataset.shards) {
      const std::string file = dataset.subdirectory.empty() ? shard.file : join_path(dataset.subdirectory, shard.file);
      preview.shards.push_back({file, shard.end - shard.begin, shard.bytes});
    }
  }
  return preview;
}

PackReport pack(const Source& source, const PackOptions& options, Progress& progress) {
  use_url_storage();
  require_local_name(options.destination, NameUse::packing);
  if (is_object_store(options.destination)) require_object_options(source.places(), options);
  Quarantine quarantine;
  const auto write = [&](const PlannedDataset& dataset, const PlannedShard& shard, const std::string& staged) {
    const ShardJob job{.source = source,
                       .options = options,
                       .dataset = dataset,
                       .shard = shard,
                       .quarantine = quarantine,
                       .staged_path = staged};
    return write_shard(job, progress);
  };
  const PackWork work{
      .plan = make_plan(source, options), .places = source.places(), .facts = facts_of(source), .write = write};
  return is_object_store(options.destination) ? run_object_pack(work, options, progress)
                                              : run_pack(work, options, progress);
}

}  // namespace bale

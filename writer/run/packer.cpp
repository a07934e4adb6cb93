#include "bale/writer/packer.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/writer/run/pack_run.hpp"
#include "bale/writer/shard/shard_job.hpp"

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

PackReport pack(const Source& source, const PackOptions& options, Progress& progress) {
  require_local_name(options.destination, UrlUse::packing);
  Quarantine quarantine;
  const auto write = [&](const Slot& slot, const std::string& staged) {
    const ShardJob job{.source = source,
                       .options = options,
                       .dataset = *slot.dataset,
                       .shard = slot.shard,
                       .quarantine = quarantine,
                       .staged_path = staged};
    return write_shard(job, progress);
  };
  PackWork work{.plan = make_plan(source, options),
                .places = source.places(),
                .facts = facts_of(source),
                .samples = {},
                .write = write};
  work.samples = samples_of(source, work.plan);
  tell_sizing(options, work.plan);
  return pack_planned(work, options, progress);
}

}  // namespace bale

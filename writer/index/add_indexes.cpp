#include "bale/writer/index/add_indexes.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/spec/dataset_spec.hpp"

namespace bale {
namespace {

struct ShardToIndex {
  std::string path;
  std::optional<ManifestShard> expected{};                   // what its manifest says, if there is one
  std::shared_ptr<const std::vector<std::string>> fields{};  // of that manifest, in its order
};

struct IndexPlan {
  std::set<std::string> directories{};  // of all shards
  std::vector<ShardToIndex> shards{};
  std::uint64_t num_present = 0;
};

/// The index of this file, and for a shard of a manifest of the file that was packed; nullopt if there is none or
/// another. Throws `damaged` if it cannot be read.
std::optional<ShardIndex> right_index(const ShardToIndex& shard) {
  std::optional<ShardIndex> index = current_index(shard.path);
  const bool is_of_another =
      index && shard.expected && index->digest() && digest_text(*index->digest()) != shard.expected->digest;
  return is_of_another ? std::nullopt : std::move(index);
}

bool has_right_index(const ShardToIndex& shard) {
  try {
    return right_index(shard).has_value();
  } catch (const Error& error) {
    const bool is_of_index = error.code() == ErrorCode::damaged && error.context().path == index_path(shard.path);
    if (is_of_index && keeps_keys_in_file(probe_format(shard.path))) return false;
    if (!is_of_index) throw;
    throw Error(
        error.code(), error.message() + ", and the keys are in it only",
        {.path = error.context().path, .hint = "copy it again, or make one that has numbers for keys with `force`"});
  }
}

void plan_part(const DatasetPart& part, bool replace, IndexPlan& plan) {
  std::vector<ShardToIndex> shards;
  for (const std::string& path : part.shards) shards.push_back({.path = path});
  if (!part.manifest_path.empty()) {
    Manifest manifest = part.load();
    std::vector<std::string> names;
    for (const ManifestField& field : manifest.fields) names.push_back(field.name);
    const auto fields = std::make_shared<const std::vector<std::string>>(std::move(names));
    for (ManifestShard& shard : manifest.shards) {
      std::string path = join_path(part.directory, shard.file);
      shards.push_back({.path = std::move(path), .expected = std::move(shard), .fields = fields});
    }
  }
  for (ShardToIndex& shard : shards) {
    plan.directories.insert(parent_directory(shard.path));
    if (!replace && has_right_index(shard)) {
      ++plan.num_present;
    } else {
      plan.shards.push_back(std::move(shard));
    }
  }
}

/// Adds what a scan does not find: the order of the fields, by which the first image is the sample's image, and keys
/// that only the index has.
void amend_scan(const ShardToIndex& shard, const Format& format, IndexBuilder& scanned, NoticeLog& notices) {
  std::optional<ShardIndex> known;
  try {
    known = right_index(shard);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged && error.code() != ErrorCode::unsupported) throw;
  }
  if (shard.fields) scanned.order_fields(*shard.fields);
  if (known) {
    std::vector<std::string> names;
    for (const FieldInfo& field : known->fields()) names.push_back(field.name);
    scanned.order_fields(std::move(names));
  }
  if (keeps_keys_in_file(format)) return;
  if (known && known->size() == scanned.size()) return scanned.take_keys(*known);
  if (!shard.expected) return;
  NoticeLog lost;
  lost.warn("its keys were in the index only, which is lost: the new index has numbers for keys");
  notices.merge(lost, shard.path);
}

/// The index of one shard. What a manifest says was made when the shard was packed, so it is never replaced by what the
/// file is now: only the index of that very file is made.
std::vector<std::byte> index_of(const ShardToIndex& shard, const LookAtImage& look,
                                const std::function<void(std::uint64_t)>& on_progress, NoticeLog& notices) {
  const std::string& path = shard.path;
  const auto require_packed = [&](const Digest& digest) {
    if (shard.expected && digest_text(digest) != shard.expected->digest) throw Error(changed_after_packing_error(path));
  };
  if (shard.expected) require_packed(digest_file(path));
  const Format& format = probe_format(path);
  std::vector<std::byte> bytes = index_shard(path, format, look, on_progress, notices, [&](IndexBuilder& scanned) {
    amend_scan(shard, format, scanned, notices);
  });
  if (shard.expected)
    require_packed(*ShardIndex::from_bytes(bytes, path).digest());  // it may have changed in the meantime
  return bytes;
}

bool is_failure_of_one(const Error& error) { return concerns_one_file(error) || error.code() == ErrorCode::changed; }

std::uint64_t bytes_of(const std::vector<ShardToIndex>& shards) {
  std::uint64_t total = 0;
  for (const ShardToIndex& shard : shards) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(shard.path, error);
    if (!error) total += size;
  }
  return total;
}

}  // namespace

AddedIndexes add_indexes(const std::string& spec, const IndexingOptions& options, Progress& progress) {
  IndexPlan plan;
  const bool replace = options.replace || options.check == ImageCheck::decode;
  AddedIndexes added;
  for (const DatasetPart& part : resolve_dataset(spec).parts) {
    plan_part(part, replace, plan);
    added.notices.merge(part.missed(), {});
  }
  added.num_present = plan.num_present;
  for (const std::string& directory : plan.directories) {
    const std::uint64_t removed = remove_stale_temporaries(directory);
    if (removed != 0 && options.on_removed_temporaries) options.on_removed_temporaries(directory, removed);
  }
  const std::vector<ShardToIndex>& shards = plan.shards;
  progress.total_bytes = bytes_of(shards);
  progress.total_shards = shards.size();
  const LookAtImage look = [&](Bytes image) {
    const ImageFacts facts = check_image(image, options.check, options.max_pixels);
    return ImageEntry{.width = facts.width, .height = facts.height, .condition = facts.condition};
  };
  std::vector<NoticeLog> notices(shards.size());
  std::vector<std::optional<Error>> failures(shards.size());
  run_parallel(shards.size(), options.jobs, [&](std::size_t number) {
    const auto on_progress = [&](std::uint64_t read) {
      progress.throw_if_stopped();
      progress.bytes += read;
      ++progress.samples;
    };
    std::vector<std::byte> index;
    try {
      index = index_of(shards[number], look, on_progress, notices[number]);
    } catch (const Error& error) {
      if (shards.size() == 1 || !is_failure_of_one(error)) throw;
      failures[number] = error;
      return;
    }
    StagedFile(index_path(shards[number].path), index).publish(shards[number].path);
    ++progress.shards;
  });
  for (const NoticeLog& of_shard : notices) added.notices.merge(of_shard, "");
  for (std::size_t number = 0; number < shards.size(); ++number) {
    if (failures[number]) added.failures.push_back({shards[number].path, *failures[number]});
  }
  added.num_added = shards.size() - added.failures.size();
  return added;
}

}  // namespace bale

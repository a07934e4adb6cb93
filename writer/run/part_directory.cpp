#include "bale/writer/run/part_directory.hpp"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/writer/destination/directory.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/publish/run_store.hpp"

namespace bale {
namespace {

constexpr const char* k_record_suffix = ".done";
constexpr std::string_view k_parts_name = "parts-";
constexpr std::uint64_t k_max_record_bytes = std::uint64_t{1} << 30;

std::string name_of(const PlanFile& plan) { return k_parts_prefix + plan.digest(); }

std::string path_of_parts(const PlanFile& plan) {
  return join_path(join_path(plan.options().destination, k_partial_name), name_of(plan));
}

std::string prefix_of(std::uint64_t shard) { return fmt::format("{:07}.", shard); }

void refuse_others(const PlanFile& plan, const Directory& partial) {
  const std::string& destination = plan.options().destination;
  for (const std::string& name : partial.names()) {
    if (name == k_journal_name) {
      throw Error(ErrorCode::exists, "holds an unfinished pack",
                  {.path = destination, .hint = "finish it with `resume`, or plan for another directory"});
    }
    if (!name.starts_with(k_parts_prefix) || name == name_of(plan)) continue;
    throw Error(ErrorCode::exists, "holds parts of another plan",
                {.path = destination, .hint = "merge that plan, or plan for another directory"});
  }
}

/// Files at the destination are those of this plan if one of its parts began before.
void require_place(const PlanFile& plan) {
  const std::string& destination = plan.options().destination;
  if (!name_is_taken(destination)) return;
  PackOptions fresh = plan.options();
  fresh.mode = DestinationMode::fresh;
  try {
    require_may_begin(fresh, plan.plan(), {});
  } catch (const Error& error) {
    // Asked afterwards: another part may have begun in the meantime.
    if (error.code() != ErrorCode::exists || !name_is_taken(path_of_parts(plan))) throw;
  }
}

std::vector<std::string> names_if_there(const std::string& path) {
  try {
    return Directory::open(path).names();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return {};  // merged in the meantime
  }
}

/// PlannedShard::staged_as for one attempt: no other attempt has the same.
std::string name_of_attempt(std::uint64_t shard) {
  const std::string unique = temporary_name();
  return prefix_of(shard) + unique.substr(unique.find('-', unique.find('-') + 1) + 1);
}

}  // namespace

PartDirectory::PartDirectory(const PlanFile& plan, const PackOptions& options, std::uint64_t parts)
    : plan_(plan), options_(options), parts_(parts), path_(path_of_parts(plan)) {}

void PartDirectory::require_may_begin(const PlanFile& plan) {
  const std::string partial_path = join_path(plan.options().destination, k_partial_name);
  if (name_is_taken(partial_path)) refuse_others(plan, Directory::open(partial_path));
  require_place(plan);
}

std::vector<Manifest> PartDirectory::manifests() { return finished_manifests(options_, plan_.plan()); }

std::vector<Manifest> PartDirectory::begin(const std::vector<Slot>&) {
  require_may_begin(plan_);
  make_directories(options_.destination);
  const Directory root = Directory::open(options_.destination);
  const Directory partial = root.make(k_partial_name);
  refuse_others(plan_, partial);
  const bool began = partial.holds(name_of(plan_));
  partial.make(name_of(plan_));
  try {
    refuse_others(plan_, partial);  // what began in the meantime may not have seen this directory
  } catch (...) {
    if (!began) partial.remove_directory(name_of(plan_));
    throw;
  }
  for (const PlannedDataset& dataset : plan_.plan().datasets) {
    if (!dataset.subdirectory.empty()) root.make(dataset.subdirectory);
  }
  if (parts_ != 0) note_parts();
  return {};
}

ShardRecords PartDirectory::records(const WantedShards& wanted) {
  ShardRecords records;
  for (const std::string& name : names_if_there(path_)) {
    const auto shard = leading_number(name);
    if (!shard || !name.ends_with(k_record_suffix) || !wanted(*shard)) continue;
    try {
      const std::vector<std::byte> text = read_file(path_of(name), k_max_record_bytes);
      records[*shard].push_back({.name = name, .finished = finished_from_text(as_text(text))});
    } catch (const Error& error) {
      // A damaged record is none: the shard is packed again. Another process may have removed it in the meantime.
      if (error.code() != ErrorCode::damaged && error.code() != ErrorCode::not_found) throw;
    }
  }
  return records;
}

bool PartDirectory::is_intact(const Slot& slot, const ShardRecord& record, CheckDepth depth) {
  const ManifestShard& shard = record.finished.shard;
  if (shard.num_samples == 0) return shard.digest.empty();
  if (depth == CheckDepth::size) return file_size(final_path(options_, slot)) == shard.bytes;
  return bale::is_intact(moves_of(options_, slot), options_, record.finished, {}, depth);
}

void PartDirectory::forget(const std::string& record) { ::unlink(path_of(record).c_str()); }

FinishedShard PartDirectory::write(Slot& slot, const WriteShard& write) {
  slot.shard.staged_as = name_of_attempt(slot.number);
  return write(slot, path_of(moves_of(options_, slot).back().first));
}

std::string PartDirectory::publish(const Slot& slot, const FinishedShard& finished) {
  const std::vector<Replacement::Move> moves = moves_of(options_, slot);
  const std::string name = record_stem(slot.number, finished) + k_record_suffix;
  try {
    bale::publish_file(path_of(name), as_bytes(finished_to_text(finished)));
    for (const auto& [staged, file] : moves) {
      const std::string path = join_path(options_.destination, file);
      if (finished.shard.num_samples != 0) {
        publish_rename(path_of(staged), path);
      } else {
        ::unlink(path.c_str());  // of an earlier attempt, which read a sample that cannot be read any more
      }
    }
  } catch (...) {
    for (const auto& [staged, file] : moves) ::unlink(path_of(staged).c_str());
    throw;
  }
  return name;
}

std::optional<FinishedShard> PartDirectory::made_by_another(const Slot& slot) {
  const ShardRecords found = records([&](std::uint64_t number) { return number == slot.number; });
  if (found.empty() || found.begin()->second.size() != 1) return std::nullopt;
  const ShardRecord& record = found.begin()->second.front();
  if (record.finished.shard.num_samples == 0 || !is_intact(slot, record, CheckDepth::content)) return std::nullopt;
  return record.finished;
}

bool PartDirectory::has_file(const PlannedDataset& dataset, const std::string& name) const {
  return is_file(join_path(dataset_directory(options_, dataset), name));
}

void PartDirectory::publish_file(const PlannedDataset& dataset, const std::string& name, const std::string& text) {
  const std::string staged = path_of(Journal::staged_name(name_of_attempt(0) + dataset.subdirectory + name));
  write_durably(staged, as_bytes(text));
  publish_rename(staged, join_path(dataset_directory(options_, dataset), name));
}

void PartDirectory::publish_manifest(const PlannedDataset& dataset, const std::string& text) {
  publish_file(dataset, k_manifest_name, text);
}

std::vector<PackReport::Replaced> PartDirectory::finish(const FinishedShards&) {
  clear();
  return {};
}

void PartDirectory::clear() {
  for (const std::string& name : names_if_there(path_)) ::unlink(path_of(name).c_str());
  ::rmdir(path_.c_str());
  if (::rmdir(parent_directory(path_).c_str()) == 0) sync_directory(options_.destination);
}

void PartDirectory::note_parts() const {
  const std::string name = fmt::format("{}{}", k_parts_name, parts_);
  if (!name_is_taken(path_of(name))) bale::publish_file(path_of(name), {});
}

std::vector<std::uint64_t> PartDirectory::noted_parts() {
  std::vector<std::uint64_t> parts;
  for (const std::string& name : names_if_there(path_)) {
    if (!name.starts_with(k_parts_name)) continue;
    const auto number = leading_number(std::string_view(name).substr(k_parts_name.size()));
    if (number && *number != 0) parts.push_back(*number);
  }
  return parts;
}

void PartDirectory::remove_staged(const std::vector<Slot>& slots) {
  const std::string mark = Journal::staged_name({});
  for (const std::string& name : names_if_there(path_)) {
    if (name.find(mark) == std::string::npos) continue;
    const bool is_of_slot = std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
      return name.starts_with(slot.dataset->subdirectory + prefix_of(slot.number));
    });
    if (is_of_slot) ::unlink(path_of(name).c_str());
  }
}

}  // namespace bale

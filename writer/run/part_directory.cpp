#include "bale/writer/run/part_directory.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/writer/destination/directory.hpp"
#include "bale/writer/publish/destination.hpp"

namespace bale {
namespace {

constexpr std::string_view k_record_suffix = ".done";
constexpr std::string_view k_parts_name = "parts-";
constexpr std::uint64_t k_max_record_bytes = std::uint64_t{1} << 30;

std::string name_of(const PlanFile& plan) { return k_parts_prefix + plan.digest(); }

std::string prefix_of(std::uint64_t shard) { return fmt::format("{:07}.", shard); }

/// The number at the beginning of a name, if a '.' or the end follows.
std::optional<std::uint64_t> leading_number(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = end == name.data() + name.size() || *end == '.';
  return error == std::errc{} && whole ? std::optional(number) : std::nullopt;
}

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
    if (error.code() != ErrorCode::exists || !PartDirectory::find(plan)) throw;
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

}  // namespace

PartDirectory::PartDirectory(const PlanFile& plan, std::string destination)
    : destination_(std::move(destination)), path_(join_path(join_path(destination_, k_partial_name), name_of(plan))) {}

void PartDirectory::require_may_make(const PlanFile& plan) {
  const std::string partial_path = join_path(plan.options().destination, k_partial_name);
  if (name_is_taken(partial_path)) refuse_others(plan, Directory::open(partial_path));
  require_place(plan);
}

PartDirectory PartDirectory::make(const PlanFile& plan) {
  const std::string& destination = plan.options().destination;
  require_may_make(plan);
  make_directories(destination);
  const Directory root = Directory::open(destination);
  const Directory partial = root.make(k_partial_name);
  refuse_others(plan, partial);
  const bool began = partial.holds(name_of(plan));
  partial.make(name_of(plan));
  try {
    refuse_others(plan, partial);  // what began in the meantime may not have seen this directory
  } catch (...) {
    if (!began) partial.remove_directory(name_of(plan));
    throw;
  }
  for (const PlannedDataset& dataset : plan.plan().datasets) {
    if (!dataset.subdirectory.empty()) root.make(dataset.subdirectory);
  }
  return {plan, destination};
}

std::optional<PartDirectory> PartDirectory::find(const PlanFile& plan) {
  PartDirectory directory(plan, plan.options().destination);
  if (!name_is_taken(directory.path_)) return std::nullopt;
  return directory;
}

PartDirectory::Records PartDirectory::records(const std::function<bool(std::uint64_t)>& wanted) const {
  Records records;
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

std::string PartDirectory::record(std::uint64_t shard, const FinishedShard& finished) const {
  const std::string& digest = finished.shard.digest;
  const std::string what = digest.empty() ? "empty" : digest.substr(digest.find(':') + 1);
  std::string name = fmt::format("{}{}{}", prefix_of(shard), what, k_record_suffix);
  publish_file(path_of(name), as_bytes(finished_to_text(finished)));
  return name;
}

void PartDirectory::remove_record(const std::string& name) const { ::unlink(path_of(name).c_str()); }

std::string PartDirectory::staged_as(std::uint64_t shard) {
  const std::string unique = temporary_name();
  return prefix_of(shard) + unique.substr(unique.find('-', unique.find('-') + 1) + 1);
}

void PartDirectory::remove_staged(std::uint64_t shard, const std::string& subdirectory) const {
  const std::string prefix = subdirectory + prefix_of(shard);
  const std::string mark = Journal::staged_name({});
  for (const std::string& name : names_if_there(path_)) {
    if (name.starts_with(prefix) && name.find(mark) != std::string::npos) ::unlink(path_of(name).c_str());
  }
}

void PartDirectory::note_parts(std::uint64_t parts) const {
  const std::string name = fmt::format("{}{}", k_parts_name, parts);
  if (!name_is_taken(path_of(name))) publish_file(path_of(name), {});
}

std::set<std::uint64_t> PartDirectory::noted_parts() const {
  std::set<std::uint64_t> parts;
  for (const std::string& name : names_if_there(path_)) {
    if (!name.starts_with(k_parts_name)) continue;
    const auto number = leading_number(std::string_view(name).substr(k_parts_name.size()));
    if (number && *number != 0) parts.insert(*number);
  }
  return parts;
}

void PartDirectory::remove(const PlanFile& plan) {
  const PartDirectory directory(plan, plan.options().destination);
  for (const std::string& name : names_if_there(directory.path_)) ::unlink(directory.path_of(name).c_str());
  ::rmdir(directory.path_.c_str());
  if (::rmdir(parent_directory(directory.path_).c_str()) == 0) sync_directory(directory.destination_);
}

}  // namespace bale

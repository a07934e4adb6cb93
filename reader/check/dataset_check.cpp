#include "bale/reader/dataset_check.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/base/files/directory_entries.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/reader/check/layer_check.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/reader/spec/shard_place.hpp"

namespace bale {
namespace {

/// A path in a directory that cannot be searched counts as existing: opening it reports the reason.
bool may_exist(const std::string& path) {
  if (remote_storage_of(path) != nullptr) return path_exists(path);
  return ::access(path.c_str(), F_OK) == 0 || !says_absent(errno);
}

std::uint64_t file_bytes(const std::string& path) { return file_size(path).value_or(0); }

/// 0 if there is no such file, or if that is unknown: checking it reports the reason.
std::uint64_t bytes_if_there(const std::string& path) try { return file_bytes(path); } catch (const Error& error) {
  if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::io) throw;
  return 0;
}

/// A shard to check, and its entry in the manifest.
struct Task {
  std::string path;
  const ManifestShard* expected = nullptr;
  bool is_missing = false;
  std::vector<Damage> findings{};
  NoticeLog notices{};
};

class Checker {
 public:
  Checker(const CheckOptions& options, Progress& progress, const std::function<void(const Damage&)>& on_finding)
      : options_(options), progress_(progress), on_finding_(on_finding) {}

  /// Lists what to check, and sets the totals of the progress. `is_one_of_several`: the spec names other datasets too,
  /// so every error of this one is a finding.
  void prepare(const DatasetPart& dataset, const std::string& spec, bool is_one_of_several);
  CheckReport run();

 private:
  void list_tasks(const DatasetPart& dataset);
  void check(Task& task);
  void find_again(Task& task) const;
  void check_missing();
  bool is_finding(const Error& error, const Task& task) const;
  void check_open(Task& task, const Shard& shard);
  void check_file(Task& task);
  void check_sidecars(Task& task, const Shard& shard);
  void check_images(Task& task, const Shard& shard, const LayersOfShard& layers);
  void check_seek_points(Task& task, const ShardIndex& index);
  bool is_replaced() const { return FileStamp::of(manifest_path_) != manifest_file_; }
  void find_strays();
  void find_leftovers();
  void check_lists();
  void report(std::vector<Damage>& into, Damage damage);

  const CheckOptions& options_;
  Progress& progress_;
  const std::function<void(const Damage&)>& on_finding_;
  std::string manifest_path_;
  FileStamp manifest_file_;
  std::string directory_;       // of its shards
  bool is_unfinished_ = false;  // a run changes it, or was killed
  bool is_newest_ = true;       // lists, and shards that it does not name, are of the newest version
  std::optional<Manifest> manifest_;
  LayerCheck layers_;
  std::vector<Task> tasks_;
  bool is_single_shard_ = false;  // the spec is a single shard without a manifest
  CheckReport report_;
  std::mutex mutex_;
};

void Checker::report(std::vector<Damage>& into, Damage damage) {
  const std::lock_guard lock(mutex_);
  on_finding_(damage);
  into.push_back(std::move(damage));
}

void Checker::list_tasks(const DatasetPart& dataset) {
  for (const std::string& path : dataset.shards) tasks_.push_back({.path = path});
  report_.notices.merge(dataset.missed(), {});
  if (manifest_path_.empty()) return;
  manifest_file_ = FileStamp::of(manifest_path_);
  manifest_ = dataset.load();
  directory_ = dataset.directory;
  is_newest_ = dataset.is_newest();
  const std::vector<std::string> paths = dataset.paths_of(*manifest_);
  for (std::size_t n = 0; n < paths.size(); ++n) {
    tasks_.push_back({.path = paths[n], .expected = &manifest_->shards[n]});
  }
}

/// Reports shard files with this dataset's name that the manifest does not list. Next to an unfinished run they are of
/// the version that it is about to publish, or of one that it replaced: no one may remove them.
void Checker::find_strays() {
  const FormatAndLayout made = find_format(manifest_->format, manifest_->layout);
  std::unordered_set<std::string> known;
  for (const ManifestShard& shard : manifest_->shards) known.insert(shard.file);
  std::vector<std::string> strays;
  if (remote_storage_of(directory_) != nullptr) return;
  for_each_entry(directory_, [&](const std::filesystem::directory_entry& entry) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(manifest_->name + '-') || !has_shard_name(*made.layout, file)) return;
    if (!known.contains(file)) strays.push_back(file);
  });
  is_unfinished_ = path_exists(join_path(directory_, k_partial_name));
  if (is_unfinished_ || is_replaced()) return;
  std::sort(strays.begin(), strays.end());
  for (const std::string& file : strays) {
    report(report_.findings, {.path = join_path(directory_, file), .what = "shard is not in the manifest"});
  }
}

/// Lists the temporary files of killed runs. Nothing reads such files, so they are not damage.
void Checker::find_leftovers() {
  std::set<std::string> directories;
  for (const Task& task : tasks_) directories.insert(parent_directory(task.path));
  for (const std::string& directory : directories) {
    for (const std::string& name : stale_temporaries(directory)) {
      report_.leftovers.push_back(join_path(directory, name));
    }
  }
}

/// Checks that the shard lists for other readers exist and match the manifest.
void Checker::check_lists() {
  const Layout& layout = *find_format(manifest_->format, manifest_->layout).layout;
  std::vector<ListedShard> shards;
  for (const ManifestShard& shard : manifest_->shards) shards.push_back({shard.file, shard.num_stored(), shard.bytes});
  for (const std::string& file : manifest_->lists) {
    const std::string path = join_name(directory_, file);
    const auto made_it = [&](const ShardList& list) { return list.file == file; };
    const auto list = std::find_if(layout.lists.begin(), layout.lists.end(), made_it);
    std::string what;
    if (!may_exist(path)) {
      what = "file is missing";
    } else if (list != layout.lists.end() && as_text(read_file(path)) != list->text(manifest_->name, shards)) {
      what = "is not what the manifest says";
    }
    if (what.empty()) continue;
    if (is_replaced()) return;
    report(report_.findings, {.path = path, .what = std::move(what)});
  }
}

void Checker::check_file(Task& task) {
  if (task.expected == nullptr) return;
  const std::optional<std::uint64_t> bytes = file_size(task.path);
  if (!bytes) return;  // opening it reports the reason
  if (*bytes != task.expected->bytes) {
    report(task.findings,
           {.path = task.path,
            .what = fmt::format("file has {} bytes, the manifest says {}", *bytes, task.expected->bytes)});
  }
  if (!may_exist(index_path(task.path)) && may_exist(task.path)) {
    report(task.findings, {.path = index_path(task.path), .what = "index file is missing"});
  }
}

/// Checks that the shard's sidecars exist, and that those for other readers match the shard if it is intact.
void Checker::check_sidecars(Task& task, const Shard& shard) {
  if (task.expected == nullptr || task.expected->sidecars.empty()) return;
  const bool intact = task.findings.empty();
  const Layout& layout = *find_format(manifest_->format, manifest_->layout).layout;
  for (const std::string& file : task.expected->sidecars) {
    const std::string path = join_name(parent_directory(task.path), file);
    if (!may_exist(path)) {
      report(task.findings, {.path = path, .what = "file is missing"});
      continue;
    }
    const auto made_it = [&](const Sidecar& sidecar) { return sidecar_path(task.path, layout, sidecar) == path; };
    const auto sidecar = std::find_if(layout.sidecars.begin(), layout.sidecars.end(), made_it);
    if (!intact || sidecar == layout.sidecars.end()) continue;
    if (as_text(read_file(path)) != sidecar->text(task.path, shard.index())) {
      report(task.findings, {.path = path, .what = "is not what its shard says"});
    }
  }
}

void Checker::check_open(Task& task, const Shard& shard) {
  const std::uint64_t num_removed = task.expected != nullptr ? task.expected->num_removed : 0;
  {
    const std::lock_guard lock(mutex_);
    report_.num_samples += shard.size() - std::min(shard.size(), num_removed);
    if (!shard.index().has_checksums() && task.expected == nullptr) ++report_.num_unchecked_shards;
  }
  const std::optional<Digest> digest = shard.index().digest();
  if (task.expected != nullptr) {
    if (shard.size() != task.expected->num_stored()) {
      report(task.findings, {.path = task.path,
                             .what = fmt::format("index lists {} samples, the manifest says {}", shard.size(),
                                                 task.expected->num_stored())});
    }
    const std::string found = digest_text(digest ? *digest : digest_file(task.path));
    if (found != task.expected->digest) {
      report(task.findings, {.path = task.path,
                             .what = fmt::format("{} {}, the manifest says {}",
                                                 digest ? "index is of a file with digest" : "digest is", found,
                                                 task.expected->digest)});
    }
  }
  std::uint64_t payload = 0;
  const LayersOfShard layers = layers_.of(task.expected, shard.index());
  std::set<std::string> lost;  // of the removed samples
  const auto take = [&](const Damage& damage) {
    if (layers.remove(damage.key)) {
      lost.insert(damage.key);
    } else {
      report(task.findings, damage);
    }
  };
  task.notices = shard.verify(take, [&](std::uint64_t bytes) {
    payload += bytes;
    progress_.bytes += bytes;
    progress_.samples += 1;
    progress_.throw_if_stopped();
  });
  if (!lost.empty()) {
    task.notices.warn(
        fmt::format("{} damaged, which no reader of this version gets; `bale rewrite` writes the others",
                    lost.size() == 1 ? "1 removed sample is" : fmt::format("{} removed samples are", lost.size())));
  }
  layers.check_values(task.path, progress_, [&](Damage damage) { report(task.findings, std::move(damage)); });
  if (options_.decode) check_images(task, shard, layers);
  find_again(task);
  // Otherwise an archive whose names make no samples would pass as intact. A manifest may list empty shards.
  if (shard.size() == 0 && task.expected == nullptr) {
    const std::uint64_t others = task.notices.count();
    report(task.findings,
           {.path = task.path,
            .what = others == 0 ? "holds no samples" : fmt::format("holds no samples, but {} other entries", others)});
  }
  check_sidecars(task, shard);
  const std::uint64_t whole = file_bytes(task.path);
  if (whole > payload) progress_.bytes += whole - payload;  // bytes that are not payload
  if (may_exist(find_seek_points(task.path))) check_seek_points(task, shard.index());
}

/// Reports images that cannot be decoded although their bytes are as packed. Other damage is reported already.
void Checker::check_images(Task& task, const Shard& shard, const LayersOfShard& layers) {
  const ShardIndex& index = shard.index();
  Scratch scratch;
  std::uint64_t not_decoded = 0;
  std::uint64_t without_image = 0;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    progress_.throw_if_stopped();
    if (layers.remove(index.key(i))) continue;
    const auto field = index.image_field(i);
    if (!field) {
      ++without_image;
      continue;
    }
    ImageFacts facts;
    try {
      facts = check_image(shard.read_image(i, scratch), ImageCheck::decode, options_.max_pixels);
    } catch (const Error& error) {
      if (is_lack_of_resources(error)) throw;
      continue;
    }
    if (facts.why.empty()) continue;
    if (!facts.is_supported) ++not_decoded;
    const bool incomplete = facts.condition == ImageCondition::incomplete;
    report(task.findings,
           {.path = task.path,
            .key = std::string(index.key(i)),
            .field = index.fields()[*field].name,
            .what = fmt::format("the image {}: {}", incomplete ? "is incomplete" : "cannot be decoded", facts.why),
            .code = facts.is_supported ? ErrorCode::damaged : ErrorCode::unsupported});
  }
  const std::lock_guard lock(mutex_);
  report_.num_images_not_decoded += not_decoded;
  report_.num_without_image += without_image;
}

/// Readers ignore seek points that do not match their images, so only this check reports them.
void Checker::check_seek_points(Task& task, const ShardIndex& index) {
  const std::string path = find_seek_points(task.path);
  try {
    const SeekPointFile file = SeekPointFile::load(path);
    if (!file.fits(index)) {
      report(task.findings, {.path = path, .what = "seek points are of another shard"});
      return;
    }
    if (!file.records_are_whole()) {
      report(task.findings, {.path = path, .what = "checksum of seek points does not match"});
    }
    for (std::uint64_t i = 0; i < file.size(); ++i) {
      const std::vector<std::byte> record = file.record(i);
      const auto field = index.image_field(i);
      if (record.empty() || !field || !index.has_checksums()) continue;
      const auto owner = owner_of_seek_points(record);
      if (owner && owner->image_crc32c == index.extent(i, *field).crc32c) continue;
      report(task.findings, {.path = path,
                             .key = std::string(index.key(i)),
                             .field = index.fields()[*field].name,
                             .what = owner ? "seek points are of another image" : "damaged seek points"});
    }
  } catch (const Error& error) {
    report(task.findings, {.path = path, .what = error.message(), .code = code_of_finding(error)});
  }
}

namespace {

/// What an error of opening a shard means. "No format recognizes it" is damage of a file that is known to be a shard.
ErrorCode meaning_of(const Error& error, const std::string& path) {
  if (error.code() != ErrorCode::unsupported) return code_of_finding(error);
  try {
    probe_format(path);
    return ErrorCode::unsupported;
  } catch (const Error&) {
    return ErrorCode::damaged;
  }
}

}  // namespace

/// For a file that is known to be a shard, or is one of several, "no format recognizes it" is damage as well.
bool Checker::is_finding(const Error& error, const Task& task) const {
  if (error.code() == ErrorCode::unsupported && is_single_shard_ && !may_exist(index_path(task.path))) return false;
  return concerns_one_file(error);
}

/// A run may move the shards of a version while it is checked. Throws if the version is gone.
void Checker::find_again(Task& task) const {
  if (task.expected == nullptr || may_exist(task.path)) return;
  try {
    task.path = place_of_shard(task.path, task.expected->digest);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;  // of the manifest of another version
  }
  if (!may_exist(task.path)) require_kept(task.path, *manifest_);
}

/// Shards that are not where the manifest says. They may all be missing, so manifests are read again for each only if
/// the version was replaced.
void Checker::check_missing() {
  std::vector<Task*> missing;
  for (Task& task : tasks_) {
    if (task.is_missing) missing.push_back(&task);
  }
  const bool is_replaced =
      manifest_ && !missing.empty() && is_replaced_since(manifest_path_, manifest_file_, *manifest_);
  for (Task* const task : missing) {
    if (is_replaced) find_again(*task);
    task->is_missing = !is_replaced || !may_exist(task->path);
    if (!task->is_missing) check(*task);
    if (task->is_missing) report(task->findings, {.path = task->path, .what = "shard file is missing"});
  }
}

void Checker::check(Task& task) {
  progress_.throw_if_stopped();
  if (is_single_shard_ && !may_exist(task.path)) {
    throw Error(ErrorCode::not_found, "no such file", {.path = task.path, .hint = "check the path"});
  }
  try {
    if (task.expected != nullptr && !may_exist(task.path)) task.path = place_of_shard(task.path);
    if (!may_exist(task.path)) {
      task.is_missing = true;
      return;
    }
    check_file(task);
    check_open(task, open_shard(task.path, ShardOpenOptions{.check_size = false, .check_stale = false}));
  } catch (const Error& error) {
    if (task.expected != nullptr && error.code() == ErrorCode::not_found) {
      require_kept(task.path, *manifest_);
      if (!may_exist(task.path) && place_of_shard(task.path) != task.path) return check(task);
    }
    if (!is_finding(error, task)) throw;
    const ErrorContext& where = error.context();
    const ErrorCode code = meaning_of(error, task.path);
    const bool has_remedy = code == ErrorCode::unsupported && !where.hint.empty();
    report(task.findings, {.path = where.path.empty() ? task.path : where.path,
                           .key = where.key,
                           .offset = where.offset,
                           .what = error_reason(error) + (has_remedy ? "; " + where.hint : std::string()),
                           .code = code});
  }
  ++progress_.shards;
}

void Checker::prepare(const DatasetPart& dataset, const std::string& spec, bool is_one_of_several) {
  report_.spec = spec;
  manifest_path_ = dataset.manifest_path;
  try {
    list_tasks(dataset);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged || manifest_path_.empty()) throw;
    report(report_.findings, {.path = manifest_path_, .offset = error.context().offset, .what = error.message()});
    return;
  }
  is_single_shard_ = !is_one_of_several && tasks_.size() == 1 && manifest_path_.empty();
  for (const Task& task : tasks_) {
    // A shard that a manifest lists and that is not there is a finding; one that the user names is an error.
    report_.num_bytes += task.expected != nullptr ? bytes_if_there(task.path) : file_bytes(task.path);
    if (task.expected != nullptr) progress_.total_samples += task.expected->num_samples;
  }
  report_.num_shards = tasks_.size();
  progress_.total_bytes += report_.num_bytes;
  progress_.total_shards += tasks_.size();
}

CheckReport Checker::run() {
  if (manifest_ && is_newest_) {
    try {
      find_strays();
      if (!is_unfinished_) check_lists();  // else they may be those of the version that is about to be published
    } catch (const Error& error) {
      if (is_lack_of_resources(error)) throw;
      const std::string& path = error.context().path;
      report(
          report_.findings,
          {.path = path.empty() ? manifest_path_ : path, .what = error_reason(error), .code = code_of_finding(error)});
    }
  }
  if (manifest_) {
    layers_.load(directory_, *manifest_, [&](Damage damage) { report(report_.findings, std::move(damage)); });
  }
  find_leftovers();
  run_parallel(tasks_.size(), options_.jobs, [&](std::size_t number) { check(tasks_[number]); });
  check_missing();
  for (Task& task : tasks_) {
    std::move(task.findings.begin(), task.findings.end(), std::back_inserter(report_.findings));
    report_.notices.merge(task.notices, task.path);
  }
  return std::move(report_);
}

void add_to(CheckReport& whole, CheckReport part) {
  whole.num_samples += part.num_samples;
  whole.num_shards += part.num_shards;
  whole.num_bytes += part.num_bytes;
  whole.num_images_not_decoded += part.num_images_not_decoded;
  whole.num_without_image += part.num_without_image;
  whole.num_unchecked_shards += part.num_unchecked_shards;
  whole.findings.insert(whole.findings.end(), part.findings.begin(), part.findings.end());
  whole.leftovers.insert(whole.leftovers.end(), part.leftovers.begin(), part.leftovers.end());
  whole.notices.merge(part.notices, {});
  whole.parts.push_back(std::move(part));
}

/// Returns false if the manifest of a part cannot be read: then only the other parts are checked.
bool prepare_part(Checker& checker, const DatasetPart& part, CheckReport& unreadable,
                  const std::function<void(const Damage&)>& on_finding) {
  try {
    checker.prepare(part, part.path, true);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
    const std::string& path = error.context().path;
    unreadable = {
        .spec = part.path,
        .findings = {
            {.path = path.empty() ? part.path : path, .what = error_reason(error), .code = code_of_finding(error)}}};
    on_finding(unreadable.findings.front());
    return false;
  }
}

/// `datasets`, which are those below the directory `spec`, or those of a "::" list.
std::vector<DatasetPart> parts_of(const std::string& spec, const std::vector<std::string>& datasets) {
  std::vector<DatasetPart> parts;
  for (const std::string& directory : datasets) {
    parts.push_back(
        {.path = directory, .manifest_path = join_path(directory, k_manifest_name), .directory = directory});
  }
  return parts.empty() ? resolve_dataset(spec).parts : parts;
}

}  // namespace

CheckReport check_dataset(const std::string& spec, const CheckOptions& options, Progress& progress,
                          const std::function<void(const Damage&)>& on_finding) {
  const FreshVersions fresh;
  const DirectoryContent below = datasets_below(spec);
  const std::vector<DatasetPart> parts = parts_of(spec, below.datasets);
  if (parts.size() == 1 && below.unreadable.empty()) {
    Checker checker(options, progress, on_finding);
    checker.prepare(parts.front(), spec, false);
    return checker.run();
  }
  CheckReport whole{.spec = spec};
  for (const std::string& directory : below.unreadable) whole.notices.add(directory, "a directory that cannot be read");
  std::vector<std::unique_ptr<Checker>> checkers;
  std::vector<CheckReport> unreadable(parts.size());
  for (std::size_t number = 0; number < parts.size(); ++number) {
    checkers.push_back(std::make_unique<Checker>(options, progress, on_finding));
    if (!prepare_part(*checkers.back(), parts[number], unreadable[number], on_finding)) checkers.back().reset();
  }
  for (std::size_t number = 0; number < parts.size(); ++number) {
    add_to(whole, checkers[number] ? checkers[number]->run() : std::move(unreadable[number]));
  }
  return whole;
}

}  // namespace bale

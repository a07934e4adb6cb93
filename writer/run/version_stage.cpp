#include "bale/writer/run/version_stage.hpp"

#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/destination/directory.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/run/objects/object_destination.hpp"
#include "bale/writer/run/objects/object_manifest.hpp"
#include "bale/writer/run/objects/staging_directory.hpp"

namespace bale {
namespace {

/// Until the manifest has its name, nobody looks at the other files, so a run that is killed leaves nothing to carry
/// out.
class DirectoryStage final : public VersionStage {
 public:
  DirectoryStage(const std::string& directory, const ManifestFile* base)
      : directory_(directory), journal_(lock_versions(directory)) {
    try {
      if (base != nullptr) require_current(directory, *base);
    } catch (...) {
      journal_.remove();
      throw;
    }
  }
  ~DirectoryStage() override {
    if (is_published_ || journal_.content().replacement) return;
    try {
      journal_.remove();
    } catch (const Error&) {  // the next run does
    }
  }

  std::string path_of(const std::string& staged) const override { return journal_.path_of(staged); }

  void publish(const Replacement& moves) override {
    DirectoryTree tree(Directory::open(directory_));
    for (const Replacement::Move& move : moves.files) tree.make(parent_directory(move.second));
    const Directory partial = journal_.destination().make(k_partial_name);
    partial.sync();
    carry_out(moves, tree, partial);
    is_published_ = true;
    journal_.remove();
  }

  void remove(const std::vector<GoneVersion>& gone, std::vector<std::string> files) override {
    journal_.begin({.staged = true}, {});
    Replacement replacement{.old_files = std::move(files)};
    for (const GoneVersion& version : gone) {
      write_durably(journal_.staged_path(version.id), as_bytes(gone_version_text(version)));
      replacement.old_manifests.push_back(kept_version(version.id));
      replacement.manifests.emplace_back(Journal::staged_name(version.id), kept_version(version.id));
    }
    journal_.record(replacement);
    journal_.finish_replacement();
    journal_.remove();
    is_published_ = true;
  }

 private:
  const std::string& directory_;
  Journal journal_;
  bool is_published_ = false;
};

class ObjectStage final : public VersionStage {
 public:
  ObjectStage(const std::string& directory, const ManifestFile* base, const Progress& progress)
      : directory_(directory),
        store_(ObjectStore::open(directory, [&progress] { progress.throw_if_stopped(); })),
        staging_({}) {
    base_ = base != nullptr ? *base : read_current_manifest(directory);
    const Manifest manifest = parse_manifest(base_.text, join_path(directory, k_manifest_name));
    if (!end_decided_run(*store_, manifest)) {
      throw Error(ErrorCode::exists, "holds an unfinished run",
                  {.path = directory,
                   .hint = "wait for it, continue it with `resume`, or drop it with `restart` or `overwrite`"});
    }
    if (base != nullptr) require_current(directory, base_);
  }

  std::string path_of(const std::string& staged) const override { return join_path(staging_.path(), staged); }

  void publish(const Replacement& moves) override {
    for (const auto& [staged, name] : moves.files) store_->upload(name, path_of(staged));
    for (const auto& [staged, name] : moves.manifests) {
      replace_object_manifest(*store_, directory_, base_, std::string(as_text(read_file(path_of(staged)))));
    }
    for (const auto& [staged, name] : moves.files) {
      // A run may have removed it that looked for what no version names before this one did.
      if (!store_->find(name)) store_->upload(name, path_of(staged));
      forget_version(store_->name_of(name));
    }
  }

  void remove(const std::vector<GoneVersion>& gone, std::vector<std::string> files) override {
    ObjectRest rest{.removed = std::move(files)};
    for (const GoneVersion& version : gone)
      rest.written.emplace_back(kept_version(version.id), gone_version_text(version));
    end_with(*store_, directory_, std::move(rest));
  }

 private:
  const std::string& directory_;
  ManifestFile base_;
  const std::unique_ptr<const ObjectStore> store_;
  const StagingDirectory staging_;
};

}  // namespace

ManifestFile read_current_manifest(const std::string& directory) {
  require_local_name(directory, UrlUse::packing);
  const std::string path = join_path(directory, k_manifest_name);
  if (is_object_store(directory)) {
    if (auto found = read_object_manifest(*ObjectStore::open(directory))) return *std::move(found);
  } else if (path_exists(path)) {
    return {.text = std::string(as_text(read_file(path)))};
  }
  throw Error(
      ErrorCode::not_found, "is not a packed dataset: there is no manifest.json",
      {.path = directory, .hint = "name the directory of the dataset, without a version; `bale pack` makes one"});
}

void require_current(const std::string& directory, const ManifestFile& base) {
  const ManifestFile current = read_current_manifest(directory);
  if (current.text == base.text) return;
  const std::string path = join_path(directory, k_manifest_name);
  throw other_version_published(directory, parse_manifest(current.text, path),
                                version_id(parse_manifest(base.text, path)));
}

bool end_earlier_run(const std::string& directory) {
  if (is_object_store(directory)) {
    const auto store = ObjectStore::open(directory);
    const auto base = read_object_manifest(*store);
    return base && read_run(*store) &&
           end_decided_run(*store, parse_manifest(base->text, store->name_of(k_manifest_name)));
  }
  Journal::clear_removed(directory);
  if (!Journal::present(directory)) return false;
  const JournalContent left = Journal::look(directory);
  if (!left.replacement && left.good_bytes != 0) return false;
  Journal journal = Journal::open(directory);
  if (journal.content().replacement) journal.finish_replacement();
  if (!journal.is_unfinished()) journal.remove();
  return true;
}

bool has_other_run(const std::string& directory, const std::string& verb, const std::string& plan) {
  const auto is_other = [&](const PlanFacts& facts, const std::string& of) {
    const auto found = facts.find("verb");
    return found != facts.end() && found->second == verb && of != plan;
  };
  if (is_object_store(directory)) {
    const auto run = read_run(*ObjectStore::open(directory));
    return run && is_other(run->facts, run->plan);
  }
  const JournalContent unfinished = Journal::look(directory);
  return is_other(unfinished.facts, unfinished.plan);
}

std::unique_ptr<VersionStage> VersionStage::begin(const std::string& directory, const ManifestFile* base,
                                                  const Progress& progress) {
  if (is_object_store(directory)) return std::make_unique<ObjectStage>(directory, base, progress);
  return std::make_unique<DirectoryStage>(directory, base);
}

}  // namespace bale

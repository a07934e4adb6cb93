// LayerChange: what a change of a dataset, whose shards stay, removes from a version and sets in it, until it is
// published or forgotten. Of changes of one sample the later holds. Nothing is written before publish(), or before a
// run that adds samples in the same version stages it.
//
// For one thread. Memory: 16 bytes per sample that is removed or gets something, and the values; about 30 per sample
// that is added.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/change/field_values.hpp"
#include "bale/writer/change/keyed_rows.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/publish/run_store.hpp"
#include "bale/writer/run/version_stage.hpp"

namespace bale {

/// What one sample gets.
struct RowChange {
  std::uint32_t row = 0;     // as the dataset delivers it
  std::uint32_t source = 0;  // of a field: which of PendingLayer::sources has the value
  std::int64_t value = 0;    // a label; of a field the number of the value
};

/// A layer of the version to be.
struct PendingLayer {
  LayerKind kind = LayerKind::removed;
  std::string field{};                                     // if it is one of a field
  std::vector<std::shared_ptr<FieldValues>> sources{};     // likewise; all have the same prefix
  std::map<std::size_t, std::vector<RowChange>> shards{};  // ascending by row, at least one

  Bytes prefix() const { return sources.empty() ? Bytes() : sources.front()->prefix(); }
  std::uint64_t num_rows() const;
};

/// Samples that another part of the same change adds.
struct AddedKeys {
  std::unordered_set<std::uint64_t> hashes{};  // of their keys
  std::vector<std::string> classes{};          // of the dataset with them
  std::uint64_t num_samples = 0;
  std::uint64_t num_shards = 0;  // that they will be in
};

class LayerChange {
 public:
  /// Opens the current version of the dataset in a directory or an object store.
  explicit LayerChange(const std::string& directory);

  const std::string& directory() const { return directory_; }
  /// The version that it began with, whose samples it is about.
  const Dataset& dataset() const { return *dataset_; }
  const Manifest& base() const { return base_; }
  const std::string& id() const { return id_; }
  /// Samples that versions before it removed, and it itself.
  RemovalList removed() const;
  bool removes(std::size_t shard, std::uint32_t row) const {
    return find(LayerKind::removed, {}, shard, row) != nullptr;
  }
  /// Whether it gives samples labels or values.
  bool sets() const;

  /// Takes note of samples that are added in the same version. What it does is not about them.
  void note_added(AddedKeys added);
  bool adds() const { return added_.has_value(); }
  bool adds(std::string_view key) const { return added_ && added_->hashes.contains(hash_key(key)); }
  /// Those of the version to be.
  const std::vector<std::string>& classes() const { return added_ ? added_->classes : base_.classes; }
  /// What to do about a key that it asks for, and the version does not have.
  std::string hint_of_missing(std::string_view key) const;

  using HasValue =
      std::function<bool(std::size_t shard, const ShardIndex& index, std::uint32_t row, std::int64_t value)>;
  /// Fills `layer` with the samples whose keys are in `wanted`, with its values. A sample for which `has_value` is true
  /// is unchanged, unless it was given another value. `path` is the table or folder, in which every sample has to be if
  /// `needs_all`. Returns how many are unchanged.
  std::uint64_t fill(PendingLayer& layer, KeyedRows& wanted, const std::string& path, bool needs_all,
                     const HasValue& has_value, Progress& progress) const;
  /// Takes a layer, and the list of what it removes. Returns what was done; `version` is empty.
  ChangeReport add(PendingLayer layer, const RemovalList& listed = {});

  bool is_empty() const { return pending_.empty() && listed_.empty(); }
  /// What is done in all, if `version` stays.
  ChangeReport report() const;
  /// Publishes the new version, with the list of what was removed, unless nothing was changed. Returns what was done in
  /// all. Throws `retryable` if the version that it began with is not the current one any more.
  ChangeReport publish(const std::string& message, Progress& progress);

  /// Throws `retryable` if the version that it began with is not the current one any more. The dataset must be locked.
  void require_base() const { require_current(directory_, file_); }
  /// Has its files written one by one: layers, and the list of what is removed.
  void stage(const std::function<void(const WriteFile& write)>& stage_file, Progress& progress);
  /// Of the files that stage() wrote.
  std::uint64_t num_staged_bytes() const { return num_staged_bytes_; }
  /// Changes the manifest of a version whose shards begin with those of the base. Precondition: stage() was called.
  void apply(Manifest& manifest) const;

 private:
  const RowChange* find(LayerKind kind, const std::string& field, std::size_t shard, std::uint32_t row) const;
  std::string verb() const;
  /// Writes the file of a layer.
  ManifestLayer write(const PendingLayer& pending, const std::string& path, Progress& progress) const;

  std::string directory_;
  ManifestFile file_;  // of the base
  Manifest base_;
  std::string id_;
  std::optional<Dataset> dataset_;
  std::vector<PendingLayer> pending_;
  RemovalList listed_;
  std::optional<AddedKeys> added_;
  std::size_t num_before_added_ = 0;  // of pending_
  std::vector<ManifestLayer> staged_layers_;
  std::vector<ManifestRemovals> staged_removals_;
  std::uint64_t num_staged_bytes_ = 0;
};

}  // namespace bale

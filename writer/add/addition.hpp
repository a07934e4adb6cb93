// Addition: the samples to add to one version of a dataset, and what becomes of them.
//
// For one thread. Memory: 16 bytes per sample of the source, and the index of one shard, while they are fitted.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/add.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

class LayerChange;

class Addition {
 public:
  /// `options` are those of options_to_add(). Throws what add() throws of a source and rules that do not fit them.
  Addition(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules);

  /// Fits the samples to a version, and to what `change` removes of it before. Returns false if it has them all.
  bool fit(Manifest manifest, Progress& progress, const LayerChange* change = nullptr);

  /// Precondition of these: fit() returned.
  Plan plan() const;
  const Source& source() const { return *source_; }
  AddedSamples& added() { return added_; }
  const Manifest& base() const { return base_->manifest; }
  PackOptions& options() { return options_; }

 private:
  void require_same_keys() const;
  void take_classes();
  bool leave_out_existing(const LayerChange* change, Progress& progress);

  const std::shared_ptr<const Source> given_;
  std::shared_ptr<const Source> source_;  // the given one, fitted
  PackOptions options_;
  const AddRules rules_;
  std::shared_ptr<const BaseVersion> base_;
  AddedSamples added_;
};

/// Throws what a run that adds throws because of what is at its destination.
void require_may_add(const PackOptions& options, const Plan& plan, const ListSamples& samples);

/// Carries out what an interrupted run had decided, unless it has to be asked for.
void finish_replacement_at(const PackOptions& options);

// What a packed dataset says of how its shards are written. Safe in any thread.

/// The manifest of a dataset that a run changes. Throws `not_found` if there is none.
Manifest manifest_to_change(const std::string& directory);

/// `asked` with format, layout, name, sidecars, seek points and codecs of the dataset. Throws `unsupported` for shards
/// whose names have their number (Layout::counted).
PackOptions options_as_packed(PackOptions asked, const Manifest& manifest);

}  // namespace bale

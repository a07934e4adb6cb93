// LayerChange: one change of a dataset, whose shards stay, from the version that it begins with to the one that it
// publishes.
//
// For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/layer.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/change/keyed_rows.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/publish/removal_list.hpp"

namespace bale {

/// Values of a field for the new version.
struct FieldToWrite {
  std::string name;
  Bytes prefix;                                    // what every value begins with
  std::function<Bytes(std::int64_t number)> read;  // the rest of one
};

class LayerChange {
 public:
  /// Opens the current version. Carries out first what an interrupted run had decided.
  LayerChange(std::string verb, LayerKind kind, const ChangeOptions& options);

  const Dataset& dataset() const { return *dataset_; }
  const Manifest& base() const { return *dataset_->manifest(); }
  ChangeReport& report() { return report_; }
  /// That samples get which the dataset delivers as `rows` (ascending) of this shard. Labels are one per row; of a
  /// field they are the numbers of values.
  void add(std::size_t shard, const std::vector<std::uint32_t>& rows, const std::vector<std::int64_t>& labels = {});
  using HasValue =
      std::function<bool(std::size_t shard, const ShardIndex& index, std::uint32_t row, std::int64_t value)>;
  /// Adds the samples whose keys are in `wanted`, with its values. A sample for which `has_value` is true is unchanged.
  /// `path` is the table or folder, in which every sample has to be if `needs_all`.
  void add(KeyedRows& wanted, const std::string& path, bool needs_all, const HasValue& has_value, Progress& progress);
  /// Publishes the new version, with the list of what was removed, unless nothing was changed.
  ChangeReport publish(const RemovalList& removed = {}) { return publish(removed, nullptr); }
  ChangeReport publish(const FieldToWrite& field) { return publish({}, &field); }

 private:
  ChangeReport publish(const RemovalList& removed, const FieldToWrite* field);
  void require_base() const;
  /// Writes the file of the layer below the journal. Returns its name there.
  std::string stage_layer(const Journal& journal, const FieldToWrite* field);
  std::string stage(const Journal& journal, const std::string& name, const std::string& text);

  const ChangeOptions& options_;
  std::optional<Dataset> dataset_;
  std::string base_text_;  // its manifest, as it is
  Manifest manifest_;      // the new one
  Layers layers_;          // of the base
  Layer layer_;
  ChangeReport report_;
};

}  // namespace bale

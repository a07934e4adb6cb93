// LayerChange: one change of a dataset, whose shards stay, from the version that it begins with to the one that it
// publishes.
//
// For one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/layer.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/change/removal_list.hpp"

namespace bale {

class LayerChange {
 public:
  /// Opens the current version. Carries out first what an interrupted run had decided.
  LayerChange(std::string verb, LayerKind kind, const ChangeOptions& options);

  const Dataset& dataset() const { return *dataset_; }
  const Manifest& base() const { return *dataset_->manifest(); }
  ChangeReport& report() { return report_; }
  /// That samples get which the dataset delivers as `rows` (ascending) of this shard. Labels are one per row.
  void add(std::size_t shard, const std::vector<std::uint32_t>& rows, const std::vector<std::int64_t>& labels = {});
  /// Publishes the new version, with the list of what was removed, unless nothing was changed.
  ChangeReport publish(const RemovalList& removed = {});

 private:
  struct NewFile {
    std::string name;  // below the dataset's directory
    std::string text;
  };
  void publish(const std::vector<NewFile>& files, const std::string& manifest);

  const ChangeOptions& options_;
  std::optional<Dataset> dataset_;
  std::string base_text_;  // its manifest, as it is
  Manifest manifest_;      // the new one
  Layers layers_;          // of the base
  Layer layer_;
  ChangeReport report_;
};

}  // namespace bale

// Publishes the lists and manifests of a run in an object store.
//
// A manifest is stored only if there is none (If-None-Match), after all else was seen to be as the run stored it. So of
// two runs one publishes. For one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bale/writer/publish/publisher.hpp"
#include "bale/writer/run/objects/object_destination.hpp"

namespace bale {

class ObjectPublisher final : public ManifestPublisher {
 public:
  /// `replaced` is what finish() returns. `destination` must outlive this object.
  explicit ObjectPublisher(ObjectDestination& destination, std::vector<PackReport::Replaced> replaced = {})
      : destination_(destination), replaced_(std::move(replaced)) {}

  void file(const PlannedDataset& dataset, const std::string& name, const std::string& text) override;
  void manifest(const PlannedDataset& dataset, const std::string& text) override;
  /// Stores the manifests and removes what the run keeps. Throws `exists` if another program has published a dataset,
  /// and `changed` if another run took the place of this one.
  std::vector<PackReport::Replaced> finish() override;

 private:
  void withdraw() const;

  ObjectDestination& destination_;
  std::vector<PackReport::Replaced> replaced_;
  std::vector<std::pair<std::string, std::string>> manifests_;  // names and texts
};

}  // namespace bale

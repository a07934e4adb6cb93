// A sample that owns its bytes: what a test packs, and what it expects to read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale::test {

struct OwnedField {
  std::string name;
  std::string bytes;
  bool operator==(const OwnedField&) const = default;
};

struct OwnedSample {
  std::string key;
  std::int64_t label = k_no_label;
  std::vector<OwnedField> fields;  // compared in this order

  OwnedSample(std::string its_key, std::int64_t its_label, std::vector<OwnedField> its_fields)
      : key(std::move(its_key)), label(its_label), fields(std::move(its_fields)) {}
  /// Without a label.
  OwnedSample(std::string its_key, std::vector<OwnedField> its_fields)
      : key(std::move(its_key)), fields(std::move(its_fields)) {}
  bool operator==(const OwnedSample&) const = default;

  /// The field of this name, or nullptr.
  const OwnedField* find(std::string_view name) const {
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const OwnedField& field) { return field.name == name; });
    return found == fields.end() ? nullptr : &*found;
  }
  /// The bytes of the field of this name. Throws std::out_of_range if the sample does not have it.
  const std::string& at(std::string_view name) const {
    const OwnedField* field = find(name);
    if (field == nullptr) throw std::out_of_range("no field " + std::string(name));
    return field->bytes;
  }

  void sort_fields() {
    std::sort(fields.begin(), fields.end(), [](const OwnedField& a, const OwnedField& b) { return a.name < b.name; });
  }

  /// The sample as a writer takes it, fields in order. Points into this sample and into `views`, which it fills.
  SampleView view(std::vector<FieldView>& views) const {
    views.clear();
    for (const OwnedField& field : fields) views.push_back({field.name, as_bytes(field.bytes)});
    return {.key = key, .label = label, .fields = views};
  }
};

/// The plan of a shard of these samples.
inline ShardPlan plan_of(const std::vector<OwnedSample>& samples) {
  ShardPlan plan;
  std::map<std::string, ShardPlan::Field> fields;
  for (const OwnedSample& sample : samples) {
    ++plan.num_samples;
    plan.key_bytes += sample.key.size();
    for (const auto& [name, bytes] : sample.fields) {
      fields[name].name = name;
      ++fields[name].num_samples;
      fields[name].bytes += bytes.size();
    }
  }
  for (const auto& [name, field] : fields) plan.fields.push_back(field);
  return plan;
}

/// A copy of what was read, fields sorted by name.
inline OwnedSample owned(const SampleView& view) {
  OwnedSample sample{std::string(view.key), view.label, {}};
  for (const FieldView& field : view.fields) {
    sample.fields.push_back({std::string(field.name), std::string(as_text(field.bytes))});
  }
  sample.sort_fields();
  return sample;
}

/// Every sample of a shard, fields sorted by name.
inline std::vector<OwnedSample> read_samples(const Shard& shard) {
  std::vector<OwnedSample> samples;
  Scratch scratch;
  for (std::uint64_t i = 0; i < shard.size(); ++i) samples.push_back(owned(shard.read(i, scratch)));
  return samples;
}

}  // namespace bale::test

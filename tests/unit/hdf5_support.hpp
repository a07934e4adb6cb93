// Packing and reading one HDF5 shard through the format's own door.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/file.hpp"
#include "bale/formats/core/format.hpp"
#include "bale/formats/image/image.hpp"

namespace bale {
extern const Format k_hdf5_format;
}

namespace bale::test {

/// A sample that owns its bytes.
struct OwnedSample {
  std::string key;
  std::int64_t label = k_no_label;
  std::map<std::string, std::string> fields{};

  bool operator==(const OwnedSample&) const = default;
};

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

inline void add(ShardWriter& writer, const OwnedSample& sample) {
  std::vector<FieldView> fields;
  for (const auto& [name, bytes] : sample.fields) fields.push_back({name, as_bytes(bytes)});
  writer.add({.key = sample.key, .label = sample.label, .fields = fields});
}

struct PackSettings {
  std::string layout = "blob";
  std::optional<ShardPlan> plan{};
  std::map<std::string, std::string> format_options{};
  std::vector<std::string> class_names{};
};

inline ShardIndex pack_shard(const std::string& path, const std::vector<OwnedSample>& samples,
                             const PackSettings& settings) {
  const ShardPlan plan = settings.plan ? *settings.plan : plan_of(samples);
  const auto writer = k_hdf5_format.create({.path = path,
                                            .layout = settings.layout,
                                            .plan = plan,
                                            .format_options = settings.format_options,
                                            .class_names = settings.class_names});
  IndexBuilder index;
  for (const OwnedSample& sample : samples) {
    add(*writer, sample);
    index.add_sample(sample.key, sample.label);
  }
  writer->finish(index);
  return ShardIndex::from_bytes(index.build(File::open_read(path).size(), std::nullopt, false, path), path);
}

inline ShardIndex scan(const std::string& path) {
  IndexBuilder index;
  k_hdf5_format.scan(path, index);
  return ShardIndex::from_bytes(index.build(File::open_read(path).size(), std::nullopt, false, path), path);
}

/// Every sample with its stored fields, read through the payload.
inline std::vector<OwnedSample> read_all(const std::string& path, const ShardIndex& index) {
  const auto payload = k_hdf5_format.open(path, index);
  std::vector<OwnedSample> samples;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    OwnedSample sample{.key = std::string(index.key(i)), .label = index.label(i)};
    for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
      const Extent extent = index.extent(i, f);
      if (!extent.present()) continue;
      std::string bytes(extent.length, '\0');
      payload->read(i, f, extent, std::as_writable_bytes(std::span(bytes)));
      sample.fields[index.fields()[f].stored_name()] = bytes;
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Bytes that depend on `seed` and are not compressible to nothing.
inline std::string noise(std::size_t size, std::uint32_t seed) {
  std::string bytes(size, '\0');
  std::uint32_t state = seed * 2654435761U + 1;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

/// Samples with every oddity: missing and empty fields, keys that are not UTF-8 or hold a NUL, no labels.
inline std::vector<OwnedSample> odd_samples() {
  std::vector<OwnedSample> samples;
  samples.push_back({"n01/a", 3, {{"jpg", noise(5000, 1)}, {"cls", "3"}, {"json.zst", noise(30, 2)}}});
  samples.push_back({"n01/b\xff\xfe", 3, {{"jpg", ""}, {"cls", "3"}}});
  samples.push_back({"n02/c\nd", k_no_label, {{"jpg", noise(1, 3)}, {"txt", ""}}});
  samples.push_back({"n02/e", 0, {{"cls", "0"}, {"txt", "hello"}}});
  samples.push_back({std::string("nul\0key", 7), -7, {{"jpg", noise(100'000, 4)}, {"PNG", noise(17, 5)}}});
  samples.push_back({"nothing", 1, {}});
  return samples;
}

inline Image solid_image(std::uint32_t width, std::uint32_t height, std::uint32_t seed) {
  const std::string bytes = noise(std::size_t{width} * height * 3, seed);
  return {.width = width, .height = height, .rgb = {bytes.begin(), bytes.end()}};
}

inline std::string png_of(const Image& image) { return std::string(as_text(encode_png(image))); }

}  // namespace bale::test

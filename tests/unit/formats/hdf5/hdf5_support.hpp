// Packing and reading one HDF5 shard through the format's own door.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/tests/support/owned_sample.hpp"
#include "bale/tests/support/random_bytes.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale {
extern const Format k_hdf5_format;
}

namespace bale::test {

inline void add(ShardWriter& writer, const OwnedSample& sample) {
  std::vector<FieldView> views;
  writer.add(sample.view(views));
}

/// A test with a path for a file.
struct InHdf5Path : InTempDir {
  std::string path = dir / "x.h5";
};

struct PackSettings {
  std::string layout = "blob";
  std::optional<ShardPlan> plan{};
  std::map<std::string, std::string> format_options{};
  std::vector<std::string> class_names{};
};

/// Of a layout, or of "deflated array".
inline PackSettings settings_of(const std::string& name) {
  if (name == "deflated array") return {.layout = "array", .format_options = {{"level", "4"}}};
  return {.layout = name};
}

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

/// Every sample with its stored fields, sorted by name, read through the payload.
inline std::vector<OwnedSample> read_all(const std::string& path, const ShardIndex& index) {
  const auto payload = k_hdf5_format.open(path, index);
  std::vector<OwnedSample> samples;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    OwnedSample sample{std::string(index.key(i)), index.label(i), {}};
    for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
      const Extent extent = index.extent(i, f);
      if (!extent.present()) continue;
      std::string bytes(extent.length, '\0');
      payload->read(i, f, extent, std::as_writable_bytes(std::span(bytes)));
      sample.fields.push_back({index.fields()[f].stored_name(), std::move(bytes)});
    }
    sample.sort_fields();
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Samples with every oddity: missing and empty fields, keys that are not UTF-8 or hold a NUL, no labels.
inline std::vector<OwnedSample> odd_samples() {
  std::vector<OwnedSample> samples;
  samples.push_back({"n01/a", 3, {{"cls", "3"}, {"jpg", random_bytes(5000, 1)}, {"json.zst", random_bytes(30, 2)}}});
  samples.push_back({"n01/b\xff\xfe", 3, {{"cls", "3"}, {"jpg", ""}}});
  samples.push_back({"n02/c\nd", {{"jpg", random_bytes(1, 3)}, {"txt", ""}}});
  samples.push_back({"n02/e", 0, {{"cls", "0"}, {"txt", "hello"}}});
  samples.push_back(
      {std::string("nul\0key", 7), -7, {{"PNG", random_bytes(17, 5)}, {"jpg", random_bytes(100'000, 4)}}});
  return samples;
}

inline std::string png_of(const Image& image) { return std::string(as_text(encode_png(image))); }

}  // namespace bale::test

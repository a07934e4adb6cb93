#include "bale/tests/unit/formats/tar/tar_support.hpp"

#include <array>
#include <filesystem>
#include <map>

namespace bale::test {

std::vector<OwnedSample> mixed_samples(std::size_t count) {
  static constexpr std::array<std::size_t, 12> k_sizes{0,    1,    511,  512,   513,    1024,
                                                       4095, 4096, 4097, 70000, 200000, 1536};
  std::vector<OwnedSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    OwnedSample sample{"n" + std::to_string(i % 7) + "/image_" + std::to_string(i), {}};
    if (i % 5 != 0) sample.fields.push_back({"cls", std::to_string(i % 1000)});
    sample.fields.push_back({"jpg", random_bytes(k_sizes[i % k_sizes.size()], i)});
    if (i % 3 == 0) sample.fields.push_back({"json", "{\"i\": " + std::to_string(i) + "}"});
    samples.push_back(std::move(sample));
  }
  return samples;
}

ShardIndex pack_samples(const std::string& path, std::string_view layout, const std::vector<OwnedSample>& samples,
                        const std::map<std::string, std::string>& options) {
  const auto writer = k_tar_format.create({.path = path, .layout = layout, .format_options = options});
  IndexBuilder index;
  for (const OwnedSample& sample : samples) {
    std::vector<FieldView> fields;
    for (const OwnedField& field : sample.fields) {
      if (!index.field_id(field.name)) index.add_field(field.name);
      fields.insert(fields.begin(), {field.name, as_bytes(field.bytes)});  // not in the container's order
    }
    writer->add({.key = sample.key, .fields = fields});
    index.add_sample(sample.key);
  }
  writer->finish(index);
  return ShardIndex::from_bytes(index.build(std::filesystem::file_size(path), std::nullopt, false, path), path);
}

std::vector<OwnedSample> read_samples(const std::string& path, ShardIndex index) {
  std::vector<OwnedSample> samples = read_samples(Shard::open(path, k_tar_format, std::move(index)));
  for (OwnedSample& sample : samples) sample.label = k_no_label;
  return samples;
}

std::vector<OwnedSample> read_samples(const std::string& path) {
  return read_samples(path, scan_shard(path, k_tar_format));
}

bool run_in(const std::string& directory, const std::string& command) {
  return std::system(("cd '" + directory + "' && { " + command + " ; } >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace bale::test

#include "bale/tests/unit/tar_support.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

namespace bale::test {

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(engine() >> 56);
  return bytes;
}

std::vector<TestSample> mixed_samples(std::size_t count) {
  static constexpr std::array<std::size_t, 12> k_sizes{0,    1,    511,  512,   513,    1024,
                                                       4095, 4096, 4097, 70000, 200000, 1536};
  std::vector<TestSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    TestSample sample{.key = "n" + std::to_string(i % 7) + "/image_" + std::to_string(i), .fields = {}};
    if (i % 5 != 0) sample.fields.push_back({"cls", std::to_string(i % 1000)});
    sample.fields.push_back({"jpg", random_bytes(k_sizes[i % k_sizes.size()], i)});
    if (i % 3 == 0) sample.fields.push_back({"json", "{\"i\": " + std::to_string(i) + "}"});
    samples.push_back(std::move(sample));
  }
  return samples;
}

ShardIndex pack_samples(const std::string& path, std::string_view layout, const std::vector<TestSample>& samples,
                        const std::map<std::string, std::string>& options) {
  const auto writer = k_tar_format.create({.path = path, .layout = layout, .format_options = options});
  IndexBuilder index;
  for (const TestSample& sample : samples) {
    std::vector<FieldView> fields;
    for (const TestField& field : sample.fields) {
      if (!index.field_id(field.name)) index.add_field(field.name);
      fields.insert(fields.begin(), {field.name, as_bytes(field.bytes)});  // not in the container's order
    }
    writer->add({.key = sample.key, .fields = fields});
    index.add_sample(sample.key);
  }
  writer->finish(index);
  return ShardIndex::from_bytes(index.build(std::filesystem::file_size(path), std::nullopt, false, path), path);
}

std::vector<TestSample> read_samples(const std::string& path, ShardIndex index) {
  const Shard shard = Shard::open(path, k_tar_format, std::move(index));
  std::vector<TestSample> samples;
  Scratch scratch;
  for (std::uint64_t i = 0; i < shard.size(); ++i) {
    const SampleView view = shard.read(i, scratch);
    TestSample sample{.key = std::string(view.key), .fields = {}};
    for (const FieldView& field : view.fields) {
      sample.fields.push_back({std::string(field.name), std::string(as_text(field.bytes))});
    }
    std::sort(sample.fields.begin(), sample.fields.end(),
              [](const TestField& a, const TestField& b) { return a.name < b.name; });
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<TestSample> read_samples(const std::string& path) {
  return read_samples(path, scan_shard(path, k_tar_format));
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spit(const std::string& path, const std::string& bytes) {
  // A new file each time: ext4 writes one that replaces its content to disk at once.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

bool run_in(const std::string& directory, const std::string& command) {
  return std::system(("cd '" + directory + "' && { " + command + " ; } >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace bale::test

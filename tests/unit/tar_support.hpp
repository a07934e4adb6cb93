// What the tar tests share: small samples, packing and reading them, and running the system's tools.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/format.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale {
extern const Format k_tar_format;
}

namespace bale::test {

struct TestField {
  std::string name;
  std::string bytes;
  bool operator==(const TestField&) const = default;
};
struct TestSample {
  std::string key;
  std::vector<TestField> fields;  // sorted by name
  bool operator==(const TestSample&) const = default;
};

/// `size` bytes that look random and are always the same for a seed.
std::string random_bytes(std::size_t size, std::uint64_t seed);

/// Samples with jpg, cls and now and then json, with sizes around every block edge.
std::vector<TestSample> mixed_samples(std::size_t count);

/// Packs the samples, returning the index that finish() made.
ShardIndex pack_samples(const std::string& path, std::string_view layout, const std::vector<TestSample>& samples,
                        const std::map<std::string, std::string>& options = {});

/// Every sample of a shard by the index given, or by a fresh scan.
std::vector<TestSample> read_samples(const std::string& path, ShardIndex index);
std::vector<TestSample> read_samples(const std::string& path);

std::string slurp(const std::string& path);
void spit(const std::string& path, const std::string& bytes);

/// Runs a shell command in `directory`; true where it succeeds.
bool run_in(const std::string& directory, const std::string& command);

}  // namespace bale::test

// What the tar tests share: small samples, packing and reading them, and running the system's tools.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/owned_sample.hpp"
#include "bale/tests/support/random_bytes.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"

namespace bale {
extern const Format k_tar_format;
}

namespace bale::test {

/// Samples with jpg, cls and now and then json, with sizes around every block edge.
std::vector<OwnedSample> mixed_samples(std::size_t count);

/// Packs the samples, returning the index that finish() made.
ShardIndex pack_samples(const std::string& path, std::string_view layout, const std::vector<OwnedSample>& samples,
                        const std::map<std::string, std::string>& options = {});

/// Every sample of a shard by the index given, or by a fresh scan; fields sorted by name, without the labels.
std::vector<OwnedSample> read_samples(const std::string& path, ShardIndex index);
std::vector<OwnedSample> read_samples(const std::string& path);

/// Runs a shell command in `directory`; true where it succeeds.
bool run_in(const std::string& directory, const std::string& command);

}  // namespace bale::test

// What the loader's tests share.
#pragma once

#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/registry/registry.hpp"
#include "bale/loader/loader.hpp"
#include "bale/tests/support/batch_digest.hpp"
#include "bale/tests/support/image_source.hpp"
#include "bale/tests/support/pack_images.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale::test {

/// Small images, packed in the first format. Those listed in `bad` are not images.
struct Pack {
  explicit Pack(std::uint64_t size, std::set<std::uint64_t> bad = {}, std::uint64_t shard_samples = 20,
                bool seek_points = false)
      : images(size, std::move(bad)),
        path(pack_images(images, dir / "pack", formats().front()->name, shard_samples, seek_points)) {}
  TempDir dir;
  ImageSource images;
  std::string path;
};

/// The worker that was built with the tests, or that of BALE_WORKER, for tests that run on another machine.
inline std::string worker_program() {
  const char* const named = std::getenv("BALE_WORKER");
  return named != nullptr ? named : BALE_TEST_WORKER;
}

/// Small batches of small images, everything else as it is by default.
inline LoaderOptions small_batches(unsigned workers, WorkerMode mode = WorkerMode::processes) {
  LoaderOptions options{.batch_size = 8, .workers = workers, .worker_mode = mode, .seed = 5};
  options.transform = train_transform(32);
  options.worker_program = worker_program();
  return options;
}

/// Digests of the batches that are left of the current epoch.
inline std::vector<std::uint64_t> rest_of_epoch(Loader& loader) {
  std::vector<std::uint64_t> digests;
  while (auto batch = loader.next()) digests.push_back(digest(*batch));
  return digests;
}

inline std::vector<std::uint64_t> epochs(Loader& loader, int count) {
  std::vector<std::uint64_t> digests;
  for (int i = 0; i < count; ++i) {
    for (const std::uint64_t one : rest_of_epoch(loader)) digests.push_back(one);
  }
  return digests;
}

/// Formats that keep the files that were packed.
inline std::vector<std::string> formats_of_files() {
  std::vector<std::string> names;
  for (const Format* format : formats()) {
    if (!format->layouts.empty() && format->layouts.front().keeps_bytes) names.emplace_back(format->name);
  }
  return names;
}

}  // namespace bale::test

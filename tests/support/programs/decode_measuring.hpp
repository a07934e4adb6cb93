// What the programs that measure decoding share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/image/simd/simd_target.hpp"

namespace bale::test {

/// Of this thread.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

inline std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// `count` samples in two lanes, as in the loader's workers: begin(lane, sample), then go_on(), which returns which
/// lanes are ready, as ImageDecoder::decode_ahead() does, then finish(lane, sample) for these.
template <typename Begin, typename GoOn, typename Finish>
void in_lanes(std::size_t count, const Begin& begin, const GoOn& go_on, const Finish& finish) {
  std::array<std::optional<std::size_t>, 2> held;
  for (std::size_t next = 0;;) {
    for (std::size_t lane = 0; lane < held.size() && next < count; ++lane) {
      if (held[lane]) continue;
      held[lane] = next++;
      begin(lane, *held[lane]);
    }
    if (!held[0] && !held[1]) return;
    const std::array<bool, 2> ready = held[0] && held[1] ? go_on() : std::array<bool, 2>{true, true};
    for (std::size_t lane = 0; lane < held.size(); ++lane) {
      if (ready[lane] && held[lane]) finish(lane, *std::exchange(held[lane], std::nullopt));
    }
  }
}

/// main() of a program with the arguments FOLDER [ROUNDS] [--simd NAME]: returns run(folder, rounds), 1 after an error
/// and 2 for other arguments.
template <typename Run>
int measuring_main(int argc, char** argv, const char* name, std::size_t default_rounds, const Run& run) {
  try {
    if (argc >= 4 && std::string(argv[argc - 2]) == "--simd") {
      limit_simd(argv[argc - 1]);
      argc -= 2;
    }
    if (argc < 2 || argc > 3) {
      fmt::print(stderr, "usage: {} FOLDER [ROUNDS] [--simd NAME]\n", name);
      return 2;
    }
    return run(argv[1], argc == 3 ? std::max<std::size_t>(1, std::stoul(argv[2])) : default_rounds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

}  // namespace bale::test

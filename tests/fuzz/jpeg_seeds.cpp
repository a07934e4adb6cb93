// Seeds for fuzz_jpeg: `fuzz_jpeg_seeds DIR` writes small JPEGs of every sampling and kind, each behind the bytes that
// the target draws a region from.
#include <cstdio>
#include <string>

#include "bale/tests/unit/image_samples.hpp"

namespace {

using bale::test::JpegSample;
using bale::test::Sampling;

constexpr std::size_t k_head_bytes = 12;

const std::vector<std::vector<Sampling>> k_samplings = {
    {{1, 1}},
    {{2, 2}},
    {{1, 1}, {1, 1}, {1, 1}},
    {{2, 1}, {1, 1}, {1, 1}},
    {{2, 2}, {1, 1}, {1, 1}},
    {{1, 2}, {1, 1}, {1, 1}},
    {{1, 1}, {2, 1}, {1, 2}},
};

void write(const std::string& path, const std::vector<std::byte>& jpeg, std::mt19937& random) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return;
  for (std::size_t i = 0; i < k_head_bytes; ++i) std::fputc(static_cast<int>(random() % 256), file);
  std::fwrite(jpeg.data(), 1, jpeg.size(), file);
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::mt19937 random(1);
  int number = 0;
  for (const std::vector<Sampling>& sampling : k_samplings) {
    for (const int quality : {10, 50, 92}) {
      for (const int restart_interval : {0, 3}) {
        JpegSample sample{.width = 9 + static_cast<std::uint32_t>(random() % 30),
                          .height = 9 + static_cast<std::uint32_t>(random() % 50),
                          .sampling = sampling,
                          .quality = quality,
                          .restart_interval = restart_interval};
        sample.optimised = random() % 2 == 0;
        if (number % 20 == 19) sample.scans = JpegSample::Scans::progressive;
        write(std::string(argv[1]) + "/seed-" + std::to_string(number++), make_jpeg(sample, random), random);
      }
    }
  }
  return 0;
}

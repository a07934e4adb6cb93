// Measures decoding alone, on one core, from memory: one crop per JPEG of a folder, drawn as RandomResizedCrop draws
// it. Compares libjpeg-turbo, the baseline decoder on the file's own bytes, the same with two images at a time as in
// the loader's workers, and the same with seek points.
//
//   bale_decode_bench FOLDER [ROUNDS] [--simd NAME]
//
// The decoders take turns, and each round starts with another one. All decode the same crops in a round. The printed
// values are medians over the rounds of the ratios within a round. Times are CPU time. Before that, the pixels of whole
// images and of 20 crops per image are compared; the exit code is 1 if they differ.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/drawn.hpp"
#include "bale/tests/support/programs/decode_measuring.hpp"

namespace {

using bale::image_detail::BaselineUse;
using bale::test::cpu_seconds;
using bale::test::median;

struct Sample {
  std::vector<std::byte> jpeg;
  std::vector<std::byte> record;
  std::uint32_t crc = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bale::Region crop{};
};

enum class Way { libjpeg, own, own_in_lanes, own_with_points };
constexpr std::array<Way, 4> k_ways{Way::libjpeg, Way::own, Way::own_in_lanes, Way::own_with_points};
constexpr std::uint64_t k_compared_crops = 20;
constexpr std::array<const char*, 4> k_names{"libjpeg-turbo", "own decoder", "own decoder, two images side by side",
                                             "own decoder, seek points"};

bale::PixelView decode(bale::ImageDecoder& decoder, const Sample& sample, Way way) {
  decoder.open(sample.jpeg);
  if (way == Way::own_with_points) decoder.use_seek_points({.record = sample.record, .image_crc32c = sample.crc});
  return decoder.read(sample.crop);
}

using Views = std::array<bale::PixelView, 2>;

Views decode_pair(std::array<bale::ImageDecoder, 2>& decoders, const Sample& first, const Sample& second) {
  decoders[0].open(first.jpeg);
  decoders[1].open(second.jpeg);
  bale::ImageDecoder::decode_ahead({&decoders[0], first.crop}, {&decoders[1], second.crop});
  return {decoders[0].read(first.crop), decoders[1].read(second.crop)};
}

void use(Way way) {
  bale::image_detail::set_baseline_use(way == Way::libjpeg ? BaselineUse::never : BaselineUse::automatic);
}

bool same_pixels(const bale::PixelView& a, const bale::PixelView& b) {
  for (std::size_t y = 0; y < a.height; ++y) {
    if (std::memcmp(a.rgb + y * a.stride, b.rgb + y * b.stride, std::size_t{a.width} * 3) != 0) return false;
  }
  return true;
}

/// Loads the JPEGs of the folder and makes their seek points. Adds the time that this takes to `making_seconds`.
std::vector<Sample> load(const std::string& folder, double& making_seconds) {
  std::vector<Sample> samples;
  for (const std::string& path : bale::test::files_in(folder)) {
    Sample sample{.jpeg = bale::read_file(path)};
    const bale::ImageHeader header = bale::probe_image(sample.jpeg);
    if (header.kind != bale::ImageKind::jpeg || header.width == 0 || header.height == 0) continue;
    sample.width = header.width;
    sample.height = header.height;
    sample.crc = bale::crc32c(sample.jpeg);
    const double begin = cpu_seconds();
    sample.record = bale::make_seek_points(sample.jpeg);
    making_seconds += cpu_seconds() - begin;
    samples.push_back(std::move(sample));
  }
  return samples;
}

void draw_crops(std::vector<Sample>& samples, std::uint64_t epoch) {
  const bale::Transform transform = bale::train_transform();
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    Sample& sample = samples[i];
    const bale::DrawKey key{.seed = 1, .epoch = epoch, .sample = i};
    sample.crop = bale::test::drawn(bale::draw_steps(transform, key, sample.width, sample.height)).crop;
  }
}

std::uint64_t count_differences(const std::vector<Sample>& samples) {
  bale::ImageDecoder theirs;
  bale::ImageDecoder ours;
  std::array<bale::ImageDecoder, 2> pair;
  std::uint64_t differences = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    use(Way::libjpeg);
    const bale::PixelView expected = decode(theirs, samples[i], Way::libjpeg);
    for (const Way way : {Way::own, Way::own_with_points}) {
      use(way);
      if (!same_pixels(expected, decode(ours, samples[i], way))) ++differences;
    }
    use(Way::own_in_lanes);
    if (!same_pixels(expected, decode_pair(pair, samples[i], samples[(i + 1) % samples.size()])[0])) ++differences;
  }
  return differences;
}

double images_per_s(const std::vector<Sample>& samples, Way way) {
  use(way);
  std::array<bale::ImageDecoder, 2> decoders;
  const double begin = cpu_seconds();
  if (way == Way::own_in_lanes) {
    std::array<bale::ImageDecoder::Upcoming, 2> upcoming;
    bale::test::in_lanes(
        samples.size(),
        [&](std::size_t lane, std::size_t i) {
          decoders[lane].open(samples[i].jpeg);
          upcoming[lane] = {&decoders[lane], samples[i].crop};
        },
        [&] { return bale::ImageDecoder::decode_ahead(upcoming[0], upcoming[1]); },
        [&](std::size_t lane, std::size_t i) { decoders[lane].read(samples[i].crop); });
  } else {
    for (const Sample& sample : samples) decode(decoders[0], sample, way);
  }
  return static_cast<double>(samples.size()) / (cpu_seconds() - begin);
}

void stay_on_this_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(::sched_getcpu(), &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
}

int run(const std::string& folder, std::size_t rounds) {
  stay_on_this_core();
  double making_seconds = 0;
  std::vector<Sample> samples = load(folder, making_seconds);
  if (samples.empty()) throw bale::Error(bale::ErrorCode::not_found, "no JPEGs", {.path = folder});
  std::uint64_t bytes = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t marked = 0;
  for (const Sample& sample : samples) {
    bytes += sample.jpeg.size();
    record_bytes += sample.record.size();
    marked += sample.record.empty() ? 0 : 1;
  }
  for (Sample& sample : samples) sample.crop = {.width = sample.width, .height = sample.height};
  std::uint64_t differences = count_differences(samples);
  for (std::uint64_t draw = 0; draw < k_compared_crops; ++draw) {
    draw_crops(samples, draw);
    differences += count_differences(samples);
  }
  fmt::print(
      "{} JPEGs, {:.0f} kB on average; {} with seek points, {:.0f} bytes on average ({:.2f}% of all), {:.0f} made "
      "a second; of each the whole and {} crops compared, in all ways: {} differ from libjpeg-turbo's\n\n",
      samples.size(), static_cast<double>(bytes) / 1e3 / static_cast<double>(samples.size()), marked,
      static_cast<double>(record_bytes) / static_cast<double>(std::max<std::uint64_t>(marked, 1)),
      100 * static_cast<double>(record_bytes) / static_cast<double>(bytes),
      static_cast<double>(samples.size()) / making_seconds, k_compared_crops, differences);
  std::array<std::vector<double>, k_ways.size()> speeds;
  std::array<std::vector<double>, k_ways.size()> ratios;
  for (std::size_t round = 0; round < rounds; ++round) {
    draw_crops(samples, round);
    std::array<double, k_ways.size()> speed{};
    for (std::size_t turn = 0; turn < k_ways.size(); ++turn) {
      const std::size_t n = (turn + round) % k_ways.size();
      speed[n] = images_per_s(samples, k_ways[n]);
    }
    for (std::size_t n = 0; n < k_ways.size(); ++n) {
      speeds[n].push_back(speed[n]);
      ratios[n].push_back(speed[n] / speed[0]);
    }
  }
  fmt::print("one core, {}, medians of {} rounds\n\n| | img/s | x libjpeg-turbo (min .. max) |\n|---|---|---|\n",
             bale::simd_target(), rounds);
  for (std::size_t n = 0; n < k_ways.size(); ++n) {
    const auto [least, most] = std::minmax_element(ratios[n].begin(), ratios[n].end());
    fmt::print("| {} | {:.0f} | {:.2f} ({:.2f} .. {:.2f}) |\n", k_names[n], median(speeds[n]), median(ratios[n]),
               *least, *most);
  }
  return differences == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return bale::test::measuring_main(argc, argv, "bale_decode_bench", 15, run); }

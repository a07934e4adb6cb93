// Measures lossless transcoding (jpeg_lossless.hpp) on one core, from memory: each JPEG of a folder as it is, and as
// libjpeg-turbo makes it of that one: with the standard's Huffman tables, and progressive. Compares the calls that
// `jpegtran -optimize -copy all` makes, which check nothing; JpegLossless by libjpeg-turbo, which decodes twice to
// compare; and by our own code.
//
//   bale_lossless_bench FOLDER [ROUNDS]
//
// The ways take turns, and each round starts with another one. The printed values are of processor time: medians over
// the rounds, and of the ratios within a round. The exit code is 1 if the own way has other bytes than libjpeg-turbo's.
#include <algorithm>
#include <array>
#include <cstdio>  // jpeglib.h needs FILE and size_t from its user
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <jpeglib.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/jpeg_lossless.hpp"
#include "bale/formats/image/jpeg/transcode/jpeg_transcoder.hpp"

namespace {

using bale::image_detail::BaselineUse;
namespace fs = std::filesystem;
using Jpegs = std::vector<std::vector<std::byte>>;

enum class Way { jpegtran, libjpeg, own };
constexpr std::array<Way, 3> k_ways{Way::jpegtran, Way::libjpeg, Way::own};
constexpr std::array<const char*, 3> k_names{"jpegtran's calls", "libjpeg-turbo, compared", "own, compared"};

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

enum class Coding { standard, optimized, progressive };

/// As jpegtran does it; its errors end the process.
std::vector<std::byte> jpegtran(bale::Bytes jpeg, Coding coding) {
  jpeg_error_mgr errors{};
  jpeg_decompress_struct from{};
  jpeg_compress_struct to{};
  from.err = to.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&from);
  jpeg_create_compress(&to);
  jpeg_mem_src(&from, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  jpeg_save_markers(&from, JPEG_COM, 0xFFFF);
  for (int number = 0; number < 16; ++number) jpeg_save_markers(&from, JPEG_APP0 + number, 0xFFFF);
  jpeg_read_header(&from, TRUE);
  jvirt_barray_ptr* const coefficients = jpeg_read_coefficients(&from);
  jpeg_copy_critical_parameters(&from, &to);
  to.optimize_coding = coding != Coding::standard ? TRUE : FALSE;
  to.write_JFIF_header = FALSE;
  to.write_Adobe_marker = FALSE;
  if (coding == Coding::progressive) jpeg_simple_progression(&to);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&to, &buffer, &size);
  jpeg_write_coefficients(&to, coefficients);
  for (jpeg_saved_marker_ptr marker = from.marker_list; marker != nullptr; marker = marker->next) {
    jpeg_write_marker(&to, marker->marker, marker->data, marker->data_length);
  }
  jpeg_finish_compress(&to);
  jpeg_destroy_compress(&to);
  jpeg_finish_decompress(&from);
  jpeg_destroy_decompress(&from);
  const auto* const first = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> bytes(first, first + size);
  std::free(buffer);
  return bytes;
}

void use(Way way) {
  bale::image_detail::set_baseline_use(way == Way::own ? BaselineUse::automatic : BaselineUse::never);
}

double ms_per_image(const Jpegs& jpegs, Way way) {
  use(way);
  bale::JpegLossless lossless;
  const double begin = cpu_seconds();
  for (const auto& jpeg : jpegs) {
    if (way == Way::jpegtran) {
      jpegtran(jpeg, Coding::optimized);
    } else {
      lossless.make(jpeg);
    }
  }
  return (cpu_seconds() - begin) * 1e3 / static_cast<double>(jpegs.size());
}

std::uint64_t count_differences(const Jpegs& jpegs) {
  std::uint64_t differences = 0;
  for (const auto& jpeg : jpegs) {
    use(Way::libjpeg);
    const auto expected = bale::make_jpeg_lossless(jpeg);
    use(Way::own);
    if (bale::make_jpeg_lossless(jpeg) != expected) ++differences;
  }
  return differences;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::uint64_t measure(const Jpegs& jpegs, const char* name, std::size_t rounds) {
  const std::uint64_t before = bale::image_detail::transcoded_count();
  const std::uint64_t differences = count_differences(jpegs);
  const std::uint64_t own = bale::image_detail::transcoded_count() - before;
  std::array<std::vector<double>, k_ways.size()> times;
  std::array<std::vector<double>, k_ways.size()> ratios;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::array<double, k_ways.size()> time{};
    for (std::size_t turn = 0; turn < k_ways.size(); ++turn) {
      const std::size_t n = (turn + round) % k_ways.size();
      time[n] = ms_per_image(jpegs, k_ways[n]);
    }
    for (std::size_t n = 0; n < k_ways.size(); ++n) {
      times[n].push_back(time[n]);
      ratios[n].push_back(time[0] / time[n]);
    }
  }
  fmt::print("\n{}: {} JPEGs, {} by the own way; {} have other bytes than libjpeg-turbo's\n\n", name, jpegs.size(), own,
             differences);
  fmt::print("| | ms/image | x jpegtran (min .. max) |\n|---|---|---|\n");
  for (std::size_t n = 0; n < k_ways.size(); ++n) {
    const auto [least, most] = std::minmax_element(ratios[n].begin(), ratios[n].end());
    fmt::print("| {} | {:.3f} | {:.2f} ({:.2f} .. {:.2f}) |\n", k_names[n], median(times[n]), median(ratios[n]), *least,
               *most);
  }
  return differences;
}

int run(const std::string& folder, std::size_t rounds) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  Jpegs jpegs;
  Jpegs standard;
  Jpegs progressive;
  for (const std::string& path : paths) {
    std::vector<std::byte> jpeg = bale::read_file(path);
    const bale::ImageHeader header = bale::probe_image(jpeg);
    if (header.kind != bale::ImageKind::jpeg || header.width == 0 || header.height == 0) continue;
    standard.push_back(jpegtran(jpeg, Coding::standard));
    progressive.push_back(jpegtran(jpeg, Coding::progressive));
    jpegs.push_back(std::move(jpeg));
  }
  if (jpegs.empty()) throw bale::Error(bale::ErrorCode::not_found, "no JPEGs", {.path = folder});
  const std::uint64_t differences = measure(jpegs, "as they are", rounds) +
                                    measure(standard, "with the standard's Huffman tables", rounds) +
                                    measure(progressive, "progressive", rounds);
  return differences == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: bale_lossless_bench FOLDER [ROUNDS]\n");
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? std::max(1ul, std::stoul(argv[2])) : 5);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bale_lossless_bench: {}\n", error.what());
    return 1;
  }
}

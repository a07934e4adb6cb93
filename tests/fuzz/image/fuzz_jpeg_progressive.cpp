// Whatever the bytes of a progressive JPEG, both decoders give the same pixels of a region, or both refuse for the same
// reason. It leaves out all else that fuzz_jpeg.cpp does, and draws small images, so that it compares thousands of them
// per second. At the end it prints how many.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

#include "bale/formats/image/jpeg/decode/progressive_decoder.hpp"
#include "bale/tests/fuzz/image/jpeg_regions.hpp"
#include "bale/tests/fuzz/image/progressive_jpegs.hpp"

namespace {

using namespace bale::test;
using bale::image_detail::BaselineUse;

/// Prints itself at the end of the process.
struct Counts {
  unsigned long long executions = 0;
  unsigned long long compared = 0;  // progressive, with a header that libjpeg accepts
  unsigned long long own = 0;       // of these: our decoder made the pixels
  unsigned long long refused = 0;   // of these: an error

  ~Counts() {
    std::fprintf(
        stderr, "%llu executions, %llu progressive JPEGs compared: %llu with pixels of the own decoder, %llu refused\n",
        executions, compared, own, refused);
  }
} g_counts;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  ++g_counts.executions;
  if (size < k_head_bytes || !is_progressive_jpeg(data + k_head_bytes, size - k_head_bytes)) return 0;
  const bale::Bytes jpeg(reinterpret_cast<const std::byte*>(data + k_head_bytes), size - k_head_bytes);
  if (bale::probe_image(jpeg).kind != bale::ImageKind::jpeg) return 0;
  static bale::ImageDecoder ours;
  static bale::ImageDecoder theirs;
  const Result expected = decode(theirs, BaselineUse::never, data, jpeg);
  const std::uint64_t before = bale::image_detail::progressive_count();
  const BaselineUse use = data[8] % 4 == 0 ? BaselineUse::plain : BaselineUse::automatic;
  require(decode(ours, use, data, jpeg) == expected);
  if (expected.opened) ++g_counts.compared;
  if (expected.opened && !expected.error.empty()) ++g_counts.refused;
  g_counts.own += bale::image_detail::progressive_count() - before;
  return 0;
}

/// A new image, or a change of this one. Only a few results are not progressive JPEGs.
extern "C" std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> input(data, data + size);
  const bool is_new =
      size < k_head_bytes || random() % 4 == 0 || !is_progressive_jpeg(data + k_head_bytes, size - k_head_bytes);
  if (is_new) {
    input.resize(k_head_bytes);
    for (unsigned char& byte : input) byte = static_cast<unsigned char>(random());
  } else if (random() % 4 == 0) {
    input[random() % k_head_bytes] = static_cast<unsigned char>(random());
  }
  std::vector<unsigned char> jpeg =
      is_new ? draw_progressive_jpeg(random) : std::vector<unsigned char>(input.begin() + k_head_bytes, input.end());
  if (!is_new || random() % 2 == 0) change_progressive_jpeg(jpeg, random);
  input.resize(k_head_bytes);
  input.insert(input.end(), jpeg.begin(), jpeg.end());
  if (input.size() > max_size) return size;
  std::memcpy(data, input.data(), input.size());
  return input.size();
}

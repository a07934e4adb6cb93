// The samples that the suite packs.
#include <fmt/format.h>

#include "bale/formats/core/key.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/tests/conformance/suite.hpp"

namespace bale::test {
namespace {

constexpr std::uint32_t k_image_side = 24;

/// A real image, for layouts that decode.
std::string encoded_image(std::size_t seed) {
  Image image{.width = k_image_side, .height = k_image_side};
  const std::string pixels = noise(k_image_side * k_image_side * 3, seed);
  image.rgb.assign(pixels.begin(), pixels.end());
  const std::vector<std::byte> png = encode_png(image);
  return std::string(as_text(png));
}

void set_label(Sample& sample, std::int64_t label) {
  sample.label = label;
  if (label != k_no_label) sample.fields.push_back({std::string(k_label_field), std::to_string(label)});
}

}  // namespace

std::string noise(std::size_t bytes, std::size_t seed) {
  std::string out(bytes, '\0');
  std::uint64_t state = 0x9E3779B97F4A7C15U * (seed + 1);
  for (char& c : out) {
    // xorshift64 (Marsaglia, 2003)
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    c = static_cast<char>(state >> 32);
  }
  return out;
}

Sample make_sample_for(const Layout& layout, std::size_t index, std::size_t bytes) {
  Sample sample{.key = fmt::format("class{}/sample_{}", index % 10, index), .fields = {}};
  if (layout.keeps_bytes) {
    sample.fields.push_back({"jpg", noise(bytes, index)});
  } else {
    sample.fields.push_back({"png", encoded_image(index)});
  }
  set_label(sample, static_cast<std::int64_t>(index % 10));
  return sample;
}

std::vector<Sample> plain_samples_for(const Layout& layout, std::size_t count, std::size_t bytes) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(make_sample_for(layout, i, bytes));
  return samples;
}

std::vector<Sample> mixed_samples_for(const Layout& layout) {
  const std::vector<std::string> stems{"a",
                                       "n01440764/n01440764_10026",
                                       "very/deep/tree/of/directories/x",
                                       "with space/and more",
                                       "\xC3\xA9t\xC3\xA9/\xE6\x97\xA5\xE6\x9C\xAC",
                                       "raw \xFF\xFE bytes/\x80",
                                       "line\nbreak/tab\t",
                                       "dots.in.the/name.of.it",
                                       "__reserved__",
                                       "a%2Eb",
                                       std::string(300, 'k'),
                                       "d/" + std::string(98, 'l'),  // 100 bytes: where old headers end
                                       std::string(155, 'p') + "/x"};
  const std::vector<std::int64_t> labels{0, 1, 999, k_no_label, -1, std::numeric_limits<std::int64_t>::max(), 42};
  const std::vector<std::size_t> sizes{0, 1, 511, 512, 513, 2038, 4080, 4096, 70'000, std::size_t{3} << 20};
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < 2 * stems.size(); ++i) {
    const std::string stem = i < stems.size() ? stems[i] : fmt::format("more/{}{}", stems[i % stems.size()], i);
    Sample sample{.key = encode_key(stem), .fields = {}};
    if (!layout.keeps_bytes) {
      sample.fields.push_back({"png", encoded_image(i)});
    } else if (i % 5 != 3) {
      sample.fields.push_back({"jpg", noise(sizes[i % sizes.size()], i)});
    } else {
      sample.fields.push_back({"png", noise(1000, i)});
    }
    set_label(sample, labels[i % labels.size()]);
    if (!layout.keeps_all_fields) {
      samples.push_back(std::move(sample));
      continue;
    }
    if (i % 3 == 1)
      sample.fields.push_back({"json", fmt::format("{{\"n\": {}, \"s\": \"{}\"}}", i, std::string(i * 10, 's'))});
    if (i % 4 == 2) sample.fields.push_back({"txt", ""});
    if (i % 7 == 5) sample.fields.push_back({"seg.png", noise(i * 100, i)});
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace bale::test

// The samples that the suite packs.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/tests/conformance/suite.hpp"
#include "bale/tests/support/random_bytes.hpp"

namespace bale::test {
namespace {

constexpr std::uint32_t k_image_side = 24;

/// A real image, for layouts that decode.
std::string encoded_image(std::size_t seed) {
  const std::vector<std::byte> png = encode_png(random_image(k_image_side, k_image_side, seed));
  return std::string(as_text(png));
}

/// A JPEG of noise has rather more bytes than pixels. One in four has bytes after its end; one is progressive.
std::string encoded_jpeg(std::size_t seed, std::size_t bytes) {
  if (seed == 2) return std::string(as_text(read_file(BALE_TEST_GOLDEN_PLANES "/planes_3.jpg")));
  const auto side = static_cast<std::uint32_t>(std::max(1.0, std::sqrt(static_cast<double>(bytes) * 1.2)));
  const std::vector<std::byte> jpeg = encode_jpeg(random_image(side, side, seed), 80);
  return std::string(as_text(jpeg)) + (seed % 4 == 1 ? "after its end" : "");
}

void set_label(OwnedSample& sample, std::int64_t label) {
  sample.label = label;
  if (label != k_no_label) sample.fields.push_back({std::string(k_label_field), std::to_string(label)});
}

}  // namespace

OwnedSample make_sample_for(const Subject& subject, std::size_t index, std::size_t bytes) {
  OwnedSample sample{fmt::format("class{}/sample_{}", index % 10, index), {}};
  if (subject.has_planes()) {
    sample.fields.push_back({"jpg", encoded_jpeg(index, bytes)});
  } else if (subject.keeps_bytes()) {
    sample.fields.push_back({"jpg", random_bytes(bytes, index)});
  } else {
    sample.fields.push_back({"png", encoded_image(index)});
  }
  set_label(sample, static_cast<std::int64_t>(index % 10));
  return sample;
}

std::vector<OwnedSample> plain_samples_for(const Subject& subject, std::size_t count, std::size_t bytes) {
  std::vector<OwnedSample> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(make_sample_for(subject, i, bytes));
  return samples;
}

std::vector<OwnedSample> mixed_samples_for(const Subject& subject) {
  const Layout& layout = subject.layout();
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
  std::vector<OwnedSample> samples;
  for (std::size_t i = 0; i < 2 * stems.size(); ++i) {
    const std::string stem = i < stems.size() ? stems[i] : fmt::format("more/{}{}", stems[i % stems.size()], i);
    OwnedSample sample{encode_key(stem), {}};
    if (!layout.keeps_bytes) {
      sample.fields.push_back({"png", encoded_image(i)});
    } else if (i % 5 != 3) {
      sample.fields.push_back({"jpg", random_bytes(sizes[i % sizes.size()], i)});
    } else {
      sample.fields.push_back({"png", random_bytes(1000, i)});
    }
    set_label(sample, labels[i % labels.size()]);
    if (!layout.keeps_all_fields) {
      samples.push_back(std::move(sample));
      continue;
    }
    if (i % 3 == 1)
      sample.fields.push_back({"json", fmt::format("{{\"n\": {}, \"s\": \"{}\"}}", i, std::string(i * 10, 's'))});
    if (i % 4 == 2) sample.fields.push_back({"txt", ""});
    if (i % 7 == 5) sample.fields.push_back({"seg.png", random_bytes(i * 100, i)});
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace bale::test

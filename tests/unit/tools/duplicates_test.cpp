// Hashes of images, the index over them, near pairs, and the choice of what to leave out.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/reduced_image.hpp"
#include "bale/formats/image/similarity/frequency_hash.hpp"
#include "bale/formats/image/similarity/thumbprint.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/tier.hpp"
#include "bale/tools/survey/duplicates/near_pairs.hpp"
#include "bale/tools/survey/duplicates/spare_images.hpp"
#include "bale/tools/survey/survey_summary.hpp"

namespace {

using bale::Image;
using bale::Thumbprint;

/// A picture of soft blobs, another one for each seed.
Image picture(std::uint64_t seed, std::uint32_t width = 320, std::uint32_t height = 240) {
  bale::KeyedRandom random{seed};
  struct Blob {
    double x, y, size, color[3];
  };
  std::vector<Blob> blobs(40);
  for (Blob& blob : blobs) {
    blob = {random.uniform(), random.uniform(), 0.03 + 0.2 * random.uniform(), {}};
    for (double& color : blob.color) color = 200 * random.uniform() - 100;
  }
  Image image{.width = width, .height = height};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      double color[3] = {128, 128, 128};
      for (const Blob& blob : blobs) {
        const double across = ((x + 0.5) / width - blob.x) / blob.size;
        const double down = ((y + 0.5) / height - blob.y) / blob.size;
        const double weight = 1 / (1 + (across * across + down * down) * (across * across + down * down));
        for (int i = 0; i < 3; ++i) color[i] += blob.color[i] * weight;
      }
      for (const double value : color) image.rgb.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
    }
  }
  return image;
}

Image cut(const Image& image, std::uint32_t left, std::uint32_t top, std::uint32_t width, std::uint32_t height) {
  Image out{.width = width, .height = height};
  for (std::uint32_t y = top; y < top + height; ++y) {
    const auto row = image.rgb.begin() + static_cast<std::ptrdiff_t>((std::size_t{y} * image.width + left) * 3);
    out.rgb.insert(out.rgb.end(), row, row + static_cast<std::ptrdiff_t>(width) * 3);
  }
  return out;
}

Image mirror(const Image& image) {
  Image out = image;
  for (std::uint32_t y = 0; y < image.height; ++y) {
    for (std::uint32_t x = 0; x < image.width; ++x) {
      const auto from = image.rgb.begin() + static_cast<std::ptrdiff_t>((std::size_t{y} * image.width + x) * 3);
      std::copy(
          from, from + 3,
          out.rgb.begin() + static_cast<std::ptrdiff_t>((std::size_t{y} * image.width + image.width - 1 - x) * 3));
    }
  }
  return out;
}

Thumbprint print_of(const Image& image) {
  return bale::make_thumbprint({.image = image,
                                .width = static_cast<double>(image.width),
                                .height = static_cast<double>(image.height),
                                .full_width = image.width,
                                .full_height = image.height});
}

Thumbprint print_of_file(const std::vector<std::byte>& file) {
  return bale::make_thumbprint(bale::decode_reduced(file, bale::k_thumbprint_min_side));
}

std::vector<bale::NearPair> pairs_of(const std::vector<Thumbprint>& prints, const bale::NearOptions& options = {}) {
  std::vector<const Thumbprint*> pointers;
  for (const Thumbprint& print : prints) pointers.push_back(&print);
  bale::Progress progress;
  return bale::find_near_pairs(pointers, options, progress).pairs;
}

bale::FrequencyHash random_hash(bale::KeyedRandom& random) {
  bale::FrequencyHash hash{.bits = random.next()};
  for (float& amplitude : hash.amplitudes) amplitude = static_cast<float>(random.uniform());
  return hash;
}

}  // namespace

TEST_CASE("a thumbprint of the reduced image is that of the whole image", "[duplicates]") {
  for (const auto& [width, height] :
       {std::pair{500U, 375U}, {333U, 517U}, {224U, 224U}, {40U, 30U}, {7U, 90U}, {1U, 1U}}) {
    const Image image = picture(width, width, height);
    const std::vector<std::byte> jpeg = bale::encode_jpeg(image, 95);
    const Thumbprint whole = print_of(bale::decode_image(jpeg));
    const Thumbprint reduced = print_of_file(jpeg);
    for (std::size_t i = 0; i < whole.luma.size(); ++i) {
      CHECK(std::abs(int{whole.luma[i]} - int{reduced.luma[i]}) <= 3);
    }
  }
}

TEST_CASE("an image is decoded at an eighth if both sides stay long enough", "[duplicates]") {
  const bale::ReducedImage reduced = bale::decode_reduced(bale::encode_jpeg(picture(1, 500, 375), 90), 32);
  CHECK(reduced.image.width == 63);
  CHECK(reduced.image.height == 47);
  CHECK(reduced.width == 62.5);
  CHECK(reduced.full_width == 500);
  CHECK_FALSE(reduced.has_defects);
  std::vector<std::byte> cut_off = bale::encode_jpeg(picture(1, 500, 375), 90);
  cut_off.resize(cut_off.size() / 2);
  CHECK_THROWS_AS(bale::decode_reduced(cut_off, 32), bale::Error);
  CHECK_THROWS_AS(bale::decode_reduced(bale::encode_jpeg(picture(1), 90), 32, 1000), bale::Error);
}

TEST_CASE("the hash of a window is that of the picture cut there", "[duplicates]") {
  const bale::HashWindows windows = bale::HashWindows::with_crops();
  REQUIRE(windows.size() == 37);
  const Image image = picture(5, 400, 300);
  std::vector<bale::FrequencyHash> hashes;
  windows.hash(print_of(image), hashes);
  CHECK(hashes[0].bits == bale::hash_of(print_of(image)).bits);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const bale::Window& window = windows[i];
    const auto at = [](double share, std::uint32_t side) {
      return static_cast<std::uint32_t>(std::lround(share * side));
    };
    const Image part = cut(image, at(window.left, 400), at(window.top, 300), at(window.right - window.left, 400),
                           at(window.bottom - window.top, 300));
    CHECK(hashes[i].distance(bale::hash_of(print_of(part)).bits) < 0.03);
    CHECK(hashes[i].distance(bale::hash_of(print_of(picture(6))).bits) > 0.1);
  }
}

TEST_CASE("the hash of a mirrored picture is known without it", "[duplicates]") {
  const Image image = picture(9, 320, 320);
  const bale::FrequencyHash hash = bale::hash_of(print_of(image));
  CHECK(hash.mirrored().distance(bale::hash_of(print_of(mirror(image))).bits) < 0.01);
  CHECK(hash.mirrored().mirrored().bits == hash.bits);
  CHECK(std::popcount(hash.bits ^ hash.mirrored().bits) == 30);  // the frequencies that are odd from left to right
}

TEST_CASE("the index finds what comparing each with each finds", "[duplicates]") {
  bale::KeyedRandom random{11};
  std::vector<bale::FrequencyHash> queries;
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i < 2000; ++i) {
    queries.push_back(random_hash(random));
    std::uint64_t changed = queries.back().bits;
    // Flips some of the weakest bits: those of one band are within reach of its probes.
    for (std::uint64_t flips = random.below(12); flips > 0; --flips) changed ^= std::uint64_t{1} << random.below(64);
    hashes.push_back(changed);
  }
  const bale::HashIndex index(hashes);
  std::uint64_t num_near = 0;
  std::uint64_t num_found = 0;
  for (const bale::FrequencyHash& query : queries) {
    std::set<std::uint32_t> found;
    bale::ScanBudget budget{.left = 1 << 20};
    index.find(query, 0.07, budget, [&](std::uint32_t number, double distance) {
      CHECK(distance == query.distance(hashes[number]));
      found.insert(number);
    });
    CHECK_FALSE(budget.is_cut);
    for (std::uint32_t number = 0; number < hashes.size(); ++number) {
      const bool is_near = query.distance(hashes[number]) <= 0.07;
      if (!is_near && found.contains(number)) FAIL("found what is not near");
      bool has_band = false;
      for (unsigned band = 0; band < 4; ++band)
        has_band = has_band || ((query.bits ^ hashes[number]) >> (16 * band) & 0xFFFF) == 0;
      if (is_near && has_band && !found.contains(number)) FAIL("missed what is near");
      num_near += is_near ? 1 : 0;
    }
    num_found += found.size();
  }
  CHECK(num_near > 900);
  CHECK(num_found >= num_near * 95 / 100);
}

TEST_CASE("a budget limits what the index looks at, and says so", "[duplicates]") {
  const bale::HashIndex index(std::vector<std::uint64_t>(1000, 7));
  bale::FrequencyHash query{.bits = 7};
  query.amplitudes.fill(1);
  std::uint64_t num_found = 0;
  bale::ScanBudget budget{.left = 300};
  index.find(query, 0.07, budget, [&](std::uint32_t, double) { ++num_found; });
  CHECK(num_found == 300);
  CHECK(budget.left == 0);
  CHECK(budget.is_cut);
}

TEST_CASE("copies are found, and nothing else", "[duplicates]") {
  std::vector<Thumbprint> prints;
  std::map<std::size_t, std::size_t> original_of;
  const auto add_copy = [&](std::size_t original, const std::vector<std::byte>& file) {
    original_of[prints.size()] = original;
    prints.push_back(print_of_file(file));
  };
  std::vector<Image> images;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    images.push_back(picture(seed, 320, 240));
    prints.push_back(print_of_file(bale::encode_jpeg(images.back(), 90)));
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    bale::KeyedRandom random{77, i};
    add_copy(i, bale::encode_jpeg(images[i], 30));
    add_copy(i, bale::encode_png(bale::resize_image(images[i], 128, 128)));
    for (const double size : {0.95, 0.9}) {
      const auto width = static_cast<std::uint32_t>(320 * size);
      const auto height = static_cast<std::uint32_t>(240 * size);
      const auto left = static_cast<std::uint32_t>(random.below(321 - width));
      const auto top = static_cast<std::uint32_t>(random.below(241 - height));
      add_copy(i, bale::encode_jpeg(cut(images[i], left, top, width, height), 80));
    }
  }
  const auto source_of = [&](std::size_t i) { return original_of.contains(i) ? original_of[i] : i; };
  std::set<std::size_t> found;
  for (const bale::NearPair& pair : pairs_of(prints)) {
    CHECK(source_of(pair.whole) == source_of(pair.part));
    CHECK(pair.similarity >= 0.92);
    for (const std::size_t one : {pair.whole, pair.part}) {
      if (std::min(pair.whole, pair.part) < 60) found.insert(one);
    }
  }
  std::size_t num_copies = 0;
  for (const auto& [copy, original] : original_of) num_copies += found.contains(copy) ? 1 : 0;
  CHECK(num_copies >= original_of.size() * 98 / 100);
}

TEST_CASE("mirrored copies are found on request", "[duplicates]") {
  std::vector<Thumbprint> prints;
  for (std::uint64_t seed = 0; seed < 20; ++seed) prints.push_back(print_of(picture(seed)));
  for (std::uint64_t seed = 0; seed < 20; ++seed) prints.push_back(print_of(mirror(picture(seed))));
  CHECK(pairs_of(prints).empty());
  const std::vector<bale::NearPair> pairs = pairs_of(prints, {.mirrored = true});
  CHECK(pairs.size() == 20);
  for (const bale::NearPair& pair : pairs) {
    CHECK(pair.is_mirrored);
    CHECK(std::max(pair.whole, pair.part) - std::min(pair.whole, pair.part) == 20);
  }
}

TEST_CASE("a thousand pictures that look the same are one group and take bounded work", "[duplicates]") {
  const Thumbprint same = print_of(picture(3));
  const auto count = bale::test::by_tier<std::size_t>(1000, 1000, 150);
  std::vector<Thumbprint> prints(count, same);
  for (std::size_t i = 0; i < prints.size(); ++i) prints[i].luma[i % 256] ^= 1;
  std::vector<const Thumbprint*> pointers;
  for (const Thumbprint& print : prints) pointers.push_back(&print);
  bale::Progress progress;
  const bale::NearPairs found = bale::find_near_pairs(pointers, {}, progress);
  CHECK(progress.samples == count);
  CHECK(found.num_cut > count * 9 / 10);
  CHECK(found.pairs.size() <= 64 * count);
  std::vector<std::size_t> group(count);
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = i;
  for (int round = 0; round < 20; ++round) {
    for (const bale::NearPair& pair : found.pairs) {
      group[pair.whole] = group[pair.part] = std::min(group[pair.whole], group[pair.part]);
    }
  }
  CHECK(std::all_of(group.begin(), group.end(), [](std::size_t number) { return number == 0; }));
}

TEST_CASE("the search stops when it is asked to", "[duplicates]") {
  const std::vector<Thumbprint> prints(4, print_of(picture(3)));
  std::vector<const Thumbprint*> pointers;
  for (const Thumbprint& print : prints) pointers.push_back(&print);
  bale::Progress progress;
  progress.stop = true;
  CHECK_THROWS_AS(bale::find_near_pairs(pointers, {}, progress), bale::Error);
}

TEST_CASE("the coding of a JPEG is read from any bytes", "[duplicates]") {
  const std::vector<std::byte> jpeg = bale::encode_jpeg(picture(1), 80);
  const bale::JpegCoding coding = bale::read_jpeg_coding(jpeg);
  CHECK(bale::sampling_name(coding) == "4:2:0");
  CHECK_FALSE(coding.is_progressive);
  const std::vector<std::byte> gray = bale::encode_jpeg(picture(1), 80, bale::JpegColors::gray);
  CHECK(bale::sampling_name(bale::read_jpeg_coding(gray)) == "gray");
  for (std::size_t size = 0; size < std::min<std::size_t>(jpeg.size(), 1000); ++size) {
    const bale::JpegCoding part = bale::read_jpeg_coding(bale::Bytes(jpeg).first(size));
    CHECK((part.components == 0 || part.components == 3));
  }
}

namespace {

/// Images of one part, by digest number and class.
bale::Survey made_survey(const std::vector<std::pair<std::uint8_t, std::uint32_t>>& images,
                         std::uint64_t first_of_second) {
  bale::Survey survey{.begins = {0, first_of_second, images.size()}};
  for (const auto& [digest, class_number] : images) {
    bale::SurveyedImage image{
        .bytes = 100U + digest, .width = 10U * digest, .height = 10, .class_number = class_number};
    image.digest.fill(digest);
    survey.images.push_back(image);
  }
  return survey;
}

std::vector<std::uint64_t> listed(const bale::Survey& survey, const bale::DuplicateGroup& group,
                                  const bale::SpareOptions& options) {
  std::vector<std::uint64_t> numbers;
  for (const bale::SpareImage& spare : bale::spare_images(survey, {.groups = {group}}, options))
    numbers.push_back(spare.image);
  return numbers;
}

}  // namespace

TEST_CASE("one of each group is kept by the rule", "[duplicates]") {
  using enum bale::KeepRule;
  const bale::Survey survey = made_survey({{1, 0}, {2, 0}, {2, 0}, {3, 0}}, 4);
  const bale::DuplicateGroup group{
      .images = {0, 1, 2, 3},
      .is_exact = false,
      .pairs = {{.whole = 0, .part = 1}, {.whole = 0, .part = 3}, {.whole = 1, .part = 3}}};
  CHECK(listed(survey, group, {}) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(listed(survey, group, {.keep = largest}) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(listed(survey, group, {.keep = smallest}) == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("of a chain only what is like a kept image is listed", "[duplicates]") {
  const bale::Survey survey = made_survey({{1, 0}, {2, 0}, {3, 0}}, 3);
  const bale::DuplicateGroup chain{
      .images = {0, 1, 2}, .is_exact = false, .pairs = {{.whole = 0, .part = 1}, {.whole = 1, .part = 2}}};
  CHECK(listed(survey, chain, {}) == std::vector<std::uint64_t>{1});
}

TEST_CASE("conflicts are kept, resolved or dropped, and kept parts stay", "[duplicates]") {
  using enum bale::ConflictRule;
  const bale::Survey survey = made_survey({{1, 0}, {1, 1}, {1, 0}}, 2);
  const bale::DuplicateGroup group{.images = {0, 1, 2}, .has_conflict = true};
  CHECK(listed(survey, group, {}) == std::vector<std::uint64_t>{1, 2});
  CHECK(listed(survey, group, {.conflicts = keep_all}).empty());
  CHECK(listed(survey, group, {.conflicts = drop_all}) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(listed(survey, group, {.first_kept_part = 1}) == std::vector<std::uint64_t>{0, 1});
  CHECK(listed(survey, group, {.conflicts = drop_all, .first_kept_part = 1}) == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("what is shown of many is spread over them", "[duplicates]") {
  CHECK(bale::spread_choice(3, 10) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(bale::spread_choice(100, 4) == std::vector<std::uint64_t>{0, 25, 50, 75});
  CHECK(bale::spread_choice(0, 4).empty());
}

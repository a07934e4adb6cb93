#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

using bale::Transform;

/// The message of what check_transform() has against a transform, or nothing.
std::string complaint(Transform transform, const std::function<void(Transform&)>& change = {}) {
  if (change) change(transform);
  try {
    bale::check_transform(transform);
  } catch (const bale::Error& error) {
    CHECK(error.code() == bale::ErrorCode::invalid_argument);
    return error.message();
  }
  return "";
}

bool names(const std::string& message, const std::string& option) {
  return message.find("transform: " + option + " ") == 0;
}

}  // namespace

TEST_CASE("The ready-made transforms are valid and mean what they say") {
  for (const Transform& transform :
       {Transform{}, bale::train_transform(), bale::train_transform(1), bale::val_transform(),
        bale::val_transform(64, 64), bale::padded_transform(3, 4), bale::ragged_transform(), bale::raw_transform()}) {
    CHECK(complaint(transform).empty());
  }
  CHECK(bale::val_transform().resize_short == 256);
  CHECK(bale::val_transform(384).resize_short == 439);
  CHECK(bale::val_transform(1).resize_short == 1);
  CHECK(bale::val_transform(224, 232).resize_short == 232);
  CHECK(bale::padded_transform(3, 4).height == 3);
  CHECK(bale::train_transform(224).image_bytes() == 224 * 224 * 3);
  Transform padded = bale::padded_transform(3, 4);
  padded.dtype = bale::DType::bfloat16;
  CHECK(padded.image_bytes() == 72);
  CHECK(bale::ragged_transform().image_bytes() == 0);
  CHECK(bale::raw_transform().image_bytes() == 0);
}

TEST_CASE("Jitter by distances is torchvision's") {
  const auto jitter = bale::ColorJitter::symmetric(0.4, 1.5, 0, 0.1);
  CHECK(jitter.brightness == bale::Range{0.6, 1.4});
  CHECK(jitter.contrast == bale::Range{0, 2.5});
  CHECK(jitter.saturation == bale::Range{1, 1});
  CHECK(jitter.hue == bale::Range{-0.1, 0.1});
  CHECK(jitter.active());
  CHECK_FALSE(bale::ColorJitter::symmetric(0, 0, 0, 0).active());
  CHECK_FALSE(bale::ColorJitter{}.active());
}

TEST_CASE("Senseless options are refused by name") {
  const Transform train = bale::train_transform();
  const double nan = std::nan("");
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(names(complaint(train, [](Transform& t) { t.width = 0; }), "width"));
  CHECK(names(complaint(train, [](Transform& t) { t.height = 65536; }), "height"));
  for (const bale::Range& bad : {bale::Range{0, 1}, {-1, 1}, {1, 0.5}, {nan, 1}, {0.5, nan}, {0.1, infinite}}) {
    CHECK(names(complaint(train, [&](Transform& t) { t.scale = bad; }), "scale"));
    CHECK(names(complaint(train, [&](Transform& t) { t.ratio = bad; }), "ratio"));
  }
  for (const double bad : {-0.1, 1.1, nan}) {
    CHECK(names(complaint(train, [&](Transform& t) { t.flip_probability = bad; }), "flip_probability"));
    CHECK(names(complaint(train, [&](Transform& t) { t.gray_probability = bad; }), "gray_probability"));
  }
  for (const bale::Range& bad : {bale::Range{-0.1, 1}, {2, 1}, {nan, 1}, {1, infinite}}) {
    CHECK(names(complaint(train, [&](Transform& t) { t.jitter.brightness = bad; }), "jitter.brightness"));
    CHECK(names(complaint(train, [&](Transform& t) { t.jitter.contrast = bad; }), "jitter.contrast"));
    CHECK(names(complaint(train, [&](Transform& t) { t.jitter.saturation = bad; }), "jitter.saturation"));
  }
  CHECK(names(complaint(train, [](Transform& t) { t.jitter.hue = {-0.6, 0}; }), "jitter.hue"));
  const Transform val = bale::val_transform();
  CHECK(names(complaint(val, [](Transform& t) { t.resize_short = 223; }), "resize_short"));
  CHECK(names(complaint(val, [](Transform& t) { t.resize_short = 70000; }), "resize_short"));
  CHECK(names(complaint(train, [](Transform& t) { t.normalize = true; }), "normalize"));
  Transform normalized = train;
  normalized.normalize = true;
  normalized.dtype = bale::DType::float32;
  CHECK(complaint(normalized).empty());
  CHECK(names(complaint(normalized, [](Transform& t) { t.stddev[1] = 0; }), "stddev"));
  CHECK(names(complaint(normalized, [](Transform& t) { t.mean[2] = std::nanf(""); }), "mean"));
}

TEST_CASE("Options that a kind does not use are not looked at") {
  CHECK(complaint(bale::val_transform(), [](Transform& t) { t.scale = {5, 1}; }).empty());
  CHECK(complaint(bale::ragged_transform(), [](Transform& t) { t.width = 0; }).empty());
  CHECK(complaint(bale::raw_transform(), [](Transform& t) { t.normalize = true; }).empty());
}

TEST_CASE("A pipeline of a senseless transform is not made") {
  Transform transform = bale::train_transform();
  transform.width = 0;
  CHECK_THROWS_AS(bale::SamplePipeline(transform, 1000), bale::Error);
}

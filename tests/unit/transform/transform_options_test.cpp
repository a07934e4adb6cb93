#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

namespace {

using bale::Transform;
using bale::test::message_of;
namespace T = bale::transforms;

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

/// What list_transform() has against a list, after "transforms".
std::string refusal(bale::TransformList list) {
  list.push_back(T::CenterCrop{.size = {8, 8}});
  const std::string message = message_of([&] { bale::list_transform(std::move(list)); });
  return message.starts_with("transforms") ? message.substr(10) : message;
}

bool names(const std::string& message, const std::string& option) {
  return message.find("transform: " + option + " ") == 0;
}

}  // namespace

TEST_CASE("The ready-made transforms are valid and mean what they say") {
  for (const Transform& transform :
       {bale::train_transform(), bale::train_transform(1), bale::val_transform(), bale::val_transform(64, 64),
        bale::padded_transform(3, 4), bale::ragged_transform(), bale::raw_transform()}) {
    CHECK(complaint(transform).empty());
  }
  const auto short_side = [](const Transform& transform) {
    return std::get<T::Resize>(transform.list->nodes.front()).height;
  };
  CHECK(short_side(bale::val_transform()) == 256);
  CHECK(short_side(bale::val_transform(384)) == 439);
  CHECK(short_side(bale::val_transform(1)) == 1);
  CHECK(short_side(bale::val_transform(224, 232)) == 232);
  CHECK(bale::padded_transform(3, 4).height == 3);
  CHECK(bale::train_transform(224).image_bytes() == 224 * 224 * 3);
  Transform padded = bale::padded_transform(3, 4);
  padded.dtype = bale::DType::bfloat16;
  CHECK(padded.image_bytes() == 72);
  CHECK(bale::ragged_transform().image_bytes() == 0);
  CHECK(bale::raw_transform().image_bytes() == 0);
}

TEST_CASE("Jitter by distances is torchvision's") {
  const auto jitter = T::ColorJitter::symmetric(0.4, 1.5, 0, 0.1);
  CHECK(jitter.brightness == bale::Range{0.6, 1.4});
  CHECK(jitter.contrast == bale::Range{0, 2.5});
  CHECK(jitter.saturation == bale::Range{1, 1});
  CHECK(jitter.hue == bale::Range{-0.1, 0.1});
}

TEST_CASE("Senseless options are refused by name") {
  const Transform train = bale::train_transform();
  const double nan = std::nan("");
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(names(complaint(train, [](Transform& t) { t.width = 0; }), "width"));
  CHECK(names(complaint(train, [](Transform& t) { t.height = 65536; }), "height"));
  for (const bale::Range& bad : {bale::Range{0, 1}, {-1, 1}, {1, 0.5}, {nan, 1}, {0.5, nan}, {0.1, infinite}}) {
    CHECK(refusal({T::RandomResizedCrop{.size = {8, 8}, .scale = bad}}).starts_with("[0].RandomResizedCrop: scale ["));
    CHECK(refusal({T::RandomResizedCrop{.size = {8, 8}, .ratio = bad}}).starts_with("[0].RandomResizedCrop: ratio ["));
  }
  for (const double bad : {-0.1, 1.1, nan}) {
    CHECK(refusal({T::RandomHorizontalFlip{.p = bad}}).starts_with("[0].RandomHorizontalFlip: p "));
    CHECK(refusal({T::RandomGrayscale{.p = bad}}).starts_with("[0].RandomGrayscale: p "));
  }
  for (const bale::Range& bad : {bale::Range{-0.1, 1}, {2, 1}, {nan, 1}, {1, infinite}}) {
    CHECK(refusal({T::ColorJitter{.brightness = bad}}).starts_with("[0].ColorJitter: brightness ["));
    CHECK(refusal({T::ColorJitter{.contrast = bad}}).starts_with("[0].ColorJitter: contrast ["));
    CHECK(refusal({T::ColorJitter{.saturation = bad}}).starts_with("[0].ColorJitter: saturation ["));
  }
  CHECK(refusal({T::ColorJitter{.hue = {-0.6, 0}}}).starts_with("[0].ColorJitter: hue ["));
  CHECK(names(message_of([] { bale::val_transform(224, 223); }), "resize_short"));
  CHECK(message_of([] { bale::val_transform(224, 70000); }).starts_with("transforms[0].Resize: height 70000"));
  CHECK(message_of([] { bale::train_transform(0); }).starts_with("transforms[0].RandomResizedCrop: size 0"));
  CHECK(names(complaint(Transform{}), "list"));
  CHECK(names(complaint(train, [](Transform& t) { t.normalize = true; }), "normalize"));
  Transform normalized = train;
  normalized.normalize = true;
  normalized.dtype = bale::DType::float32;
  CHECK(complaint(normalized).empty());
  CHECK(names(complaint(normalized, [](Transform& t) { t.stddev[1] = 0; }), "stddev"));
  CHECK(names(complaint(normalized, [](Transform& t) { t.mean[2] = std::nanf(""); }), "mean"));
}

TEST_CASE("PadTo is the last transform that changes pixels") {
  const T::PadTo pad{.size = {8, 8}};
  const std::string after = "comes after PadTo, whose zeros are those of the batch";
  CHECK(refusal({pad, T::RandomHorizontalFlip{}}) == "[1].RandomHorizontalFlip: this " + after);
  CHECK(refusal({pad, T::ToDtype{}, T::RandomErasing{}}) == "[2].RandomErasing: this " + after);
  CHECK(refusal({T::RandomApply{.transforms = {pad}}}) ==
        "[0].RandomApply[0].PadTo: this must not be inside another transform");
  CHECK(bale::list_transform({T::RandomHorizontalFlip{}, pad, T::SanitizeBoundingBoxes{}, T::ToDtype{}}).pads);
}

TEST_CASE("Ragged images are only converted, and raw ones are not even that") {
  using Shape = Transform::Shape;
  const auto of = [](bale::TransformList list, Shape shape) {
    return bale::list_transform(std::move(list), bale::PixelLayout::nhwc, bale::PassOrder::pillow_13,
                                bale::PixelMode::rgb, shape);
  };
  CHECK(of({T::ToDtype{}, T::Normalize{}}, Shape::ragged).normalize);
  CHECK(names(message_of([&] { of({T::RandomHorizontalFlip{}}, Shape::ragged); }), "list"));
  CHECK(names(message_of([&] { of({T::ToDtype{}}, Shape::raw); }), "list"));
  CHECK(complaint(bale::ragged_transform(), [](Transform& t) { t.width = 0; }).empty());
  CHECK(complaint(bale::raw_transform(), [](Transform& t) { t.normalize = true; }).empty());
}

TEST_CASE("A pipeline of a senseless transform is not made") {
  Transform transform = bale::train_transform();
  transform.width = 0;
  CHECK_THROWS_AS(bale::SamplePipeline(transform, 1000), bale::Error);
}

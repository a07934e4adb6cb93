// Lists of transforms: their JSON, checks, sizes and draws.
#include <algorithm>
#include <map>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/list_drawer.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/json/json.hpp"
#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/presets.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

namespace {

namespace T = bale::transforms;
using bale::DrawKey;
using bale::ErrorCode;
using bale::Step;
using bale::Steps;
using bale::Transform;
using bale::TransformList;

/// One of each transform, in an order that can be run.
const char* const k_all = R"([
  {"name": "RandomZoomOut", "fill": [1, 2, 3], "side_range": [1, 2], "p": 0.5},
  {"name": "ScaleJitter", "target_size": [90, 80], "scale_range": [0.5, 2.0], "interpolation": "bicubic"},
  {"name": "RandomShortestSize", "min_size": [60, 70], "max_size": 300},
  {"name": "RandomResize", "min_size": 50, "max_size": 90},
  {"name": "RandomRotation", "degrees": [-30, 30], "expand": true, "center": [3.5, 4], "interpolation": "bilinear"},
  {"name": "Resize", "height": 70, "max_size": 200},
  {"name": "FixedSizeCrop", "size": [80, 64], "fill": [1, 2, 3]},
  {"name": "PadIfSmaller", "size": [64, 64]},
  {"name": "RandomCrop", "size": [60, 50], "padding": [1, 2, 3, 4], "padding_mode": "reflect", "pad_if_needed": true},
  {"name": "Pad", "padding": [1, 1, 2, 2], "padding_mode": "edge"},
  {"name": "CenterCrop", "size": [48, 56]},
  {"name": "RandomAffine", "degrees": [-5, 5], "translate": [0.1, 0.2], "scale": [0.9, 1.1], "shear_x": [-3, 3]},
  {"name": "RandomPerspective", "p": 1},
  {"name": "RandomIoUCrop", "sampler_options": [0, 0.5], "trials": 9}, {"name": "ClampBoundingBoxes"},
  {"name": "SanitizeBoundingBoxes", "min_area": 4},
  {"name": "RandomResizedCrop", "size": [32, 40], "interpolation": ["bilinear", "bicubic"]},
  {"name": "RandomHorizontalFlip"}, {"name": "RandomVerticalFlip", "p": 0.25},
  {"name": "RandomOrder", "transforms": [
    {"name": "ColorJitter", "brightness": [0.6, 1.4], "hue": [-0.1, 0.1]}, {"name": "Grayscale"}]},
  {"name": "RandomChoice", "p": [1, 2], "transforms": [
    {"name": "RandomApply", "p": 0.8, "transforms": [{"name": "RandomSolarize"}, {"name": "RandomPosterize", "bits": 3}]},
    {"name": "Compose", "transforms": []}]},
  {"name": "RandomGrayscale"}, {"name": "RandomPhotometricDistort"}, {"name": "RandomEqualize"},
  {"name": "RandomAutocontrast"}, {"name": "RandomInvert"}, {"name": "RandomAdjustSharpness", "sharpness_factor": 2},
  {"name": "RandomChannelPermutation"}, {"name": "GaussianBlur", "kernel_size": [3, 5]},
  {"name": "PillowGaussianBlur"},
  {"name": "AutoAugment", "policy": "svhn"}, {"name": "RandAugment"}, {"name": "TrivialAugmentWide"},
  {"name": "AugMix"}, {"name": "TimmAutoAugment", "config": "rand-m9-mstd0.5-inc1"},
  {"name": "ToDtype", "dtype": "float16"}, {"name": "Normalize"},
  {"name": "RandomErasing", "p": 1, "with": "pixel_noise"}])";

Transform transform_of(const std::string& json) { return bale::list_transform(bale::parse_transforms(json)); }

std::string refusal(const std::string& json) {
  const bale::Error error = bale::test::error_of([&] { transform_of(json); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  return error.message();
}

/// The number of steps of type `Wanted` in many drawings of a list that ends at 32 x 32 pixels.
template <typename Wanted>
std::size_t count_of(const Transform& transform, std::size_t num_samples) {
  std::size_t count = 0;
  for (std::uint64_t sample = 0; sample < num_samples; ++sample) {
    const Steps steps = bale::draw_steps(transform, {.seed = 3, .sample = sample}, 100, 80);
    count += static_cast<std::size_t>(
        std::ranges::count_if(steps, [](const Step& step) { return std::holds_alternative<Wanted>(step); }));
  }
  return count;
}

}  // namespace

TEST_CASE("A list is the same after writing and reading it") {
  const TransformList list = bale::parse_transforms(k_all);
  const std::string text = bale::transforms_json(list);
  CHECK(bale::transforms_json(bale::parse_transforms(text)) == text);
  CHECK(text.find("\"bits\":3") != std::string::npos);
  CHECK(text.find("\"max_size\":null") == std::string::npos);
  const Transform transform = bale::list_transform(list);
  CHECK(transform.list->json == text);
  CHECK(transform.width == 40);
  CHECK(transform.height == 32);
  CHECK(transform.dtype == bale::DType::float16);
  CHECK(transform.normalize);
}

TEST_CASE("Every transform draws steps, the same for the same key and others for another") {
  const Transform transform = transform_of(k_all);
  const DrawKey key{.seed = 1, .epoch = 2, .sample = 3, .copy = 4};
  for (const auto& [width, height] : {std::pair{100U, 80U}, {1U, 1U}, {333U, 500U}}) {
    CHECK(bale::draw_steps(transform, key, width, height) == bale::draw_steps(transform, key, width, height));
  }
  const Steps steps = bale::draw_steps(transform, key, 100, 80);
  for (const DrawKey& other :
       {DrawKey{2, 2, 3, 4}, DrawKey{1, 3, 3, 4}, DrawKey{1, 2, 4, 4}, DrawKey{1, 2, 3, 5}, DrawKey{1, 2, 3, 4, 1}}) {
    CHECK(bale::draw_steps(transform, other, 100, 80) != steps);
  }
}

TEST_CASE("What cannot be run is refused with its place in the list") {
  const std::string end = R"(, {"name": "CenterCrop", "size": [8, 8]}])";
  CHECK_THAT(refusal("nonsense"), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal(R"([{"name": "Cutout"}])"), ContainsSubstring("transforms[0]: there is no transform \"Cutout\""));
  CHECK_THAT(refusal(R"([{"name": "Grayscale", "p": 1}])"),
             ContainsSubstring("transforms[0].Grayscale: has no parameter \"p\""));
  CHECK_THAT(refusal(R"([{"name": "RandomInvert", "p": 1.5})" + end),
             ContainsSubstring("transforms[0].RandomInvert: p 1.5"));
  CHECK_THAT(refusal(R"([{"name": "RandomInvert", "p": "x"})" + end),
             ContainsSubstring("RandomInvert.p: \"x\" is not a"));
  CHECK_THAT(refusal(R"([{"name": "RandomPosterize", "bits": 9})" + end), ContainsSubstring("bits 9 is not within"));
  CHECK_THAT(refusal(R"([{"name": "RandomPosterize", "bits": -1})" + end), ContainsSubstring("whole number in range"));
  CHECK_THAT(refusal(R"([{"name": "GaussianBlur", "kernel_size": [3, 4]})" + end), ContainsSubstring("kernel_size 4"));
  CHECK_THAT(refusal(R"([{"name": "RandomIoUCrop", "max_scale": 1.5})" + end),
             ContainsSubstring("[0.3, 1.5] is not a range"));
  CHECK_THAT(refusal(R"([{"name": "RandomIoUCrop", "sampler_options": []})" + end), ContainsSubstring("is empty"));
  CHECK_THAT(
      refusal(R"([{"name": "RandomIoUCrop"}, {"name": "RandomOrder", "transforms": [{"name": "RandomIoUCrop"}]})" +
              end),
      ContainsSubstring("transforms[1].RandomOrder[0].RandomIoUCrop: this may appear only once"));
  CHECK_THAT(refusal(R"([{"name": "SanitizeBoundingBoxes", "min_size": 0})" + end),
             ContainsSubstring("min_size 0 is below 1"));
  CHECK_THAT(refusal(R"([{"name": "RandomResizedCrop", "size": [8, 8], "interpolation": ["cubic"]}])"),
             ContainsSubstring("\"cubic\" is not one of"));
  CHECK_THAT(refusal(R"([{"name": "RandomChoice", "transforms": []})" + end), ContainsSubstring("transforms is empty"));
  CHECK_THAT(refusal(R"([{"name": "TimmAutoAugment", "config": "rand-q7"})" + end),
             ContainsSubstring("TimmAutoAugment"));
  CHECK_THAT(refusal(R"([{"name": "RandomApply", "transforms": [{"name": "ToDtype"}]})" + end),
             ContainsSubstring("transforms[0].RandomApply[0].ToDtype: this must not be inside"));
  CHECK_THAT(refusal(R"([{"name": "CenterCrop", "size": [8, 8]}, {"name": "Normalize"}])"),
             ContainsSubstring("needs float"));
  CHECK_THAT(refusal(R"([{"name": "ToDtype", "dtype": "float32"})" + end), ContainsSubstring("put it before ToDtype"));
  CHECK_THAT(refusal(R"([{"name": "Resize", "height": 8}])"), ContainsSubstring("different sizes"));
  CHECK_THAT(refusal(R"([{"name": "CenterCrop", "size": [8, 0]}])"), ContainsSubstring("size 0 is not within"));
  std::string deep = R"({"name": "Grayscale"})";
  for (int i = 0; i < 30; ++i) deep = R"({"name": "RandomApply", "transforms": [)" + deep + "]}";
  CHECK_THAT(refusal("[" + deep + end), ContainsSubstring("nested more than"));
}

TEST_CASE("A transform keeps the text that its list was read from") {
  const std::string text = R"([ {"size": [8, 9], "name": "CenterCrop"} ])";
  const Transform transform = bale::json_transform(text, bale::PixelLayout::nchw);
  CHECK(transform.list->json == text);
  CHECK(transform.width == 9);
  CHECK(transform.layout == bale::PixelLayout::nchw);
}

TEST_CASE("A transform draws the same whatever stands before it, unless it is of the same name") {
  const T::RandomResizedCrop crop{.size = {32, 32}};
  const T::GaussianBlur blur{.kernel_size = {3, 3}};
  const Transform alone = bale::list_transform({crop, blur});
  const Transform among =
      bale::list_transform({T::RandomInvert{}, crop, T::RandomApply{.transforms = {T::Grayscale{}}}, blur});
  const Transform twice = bale::list_transform({crop, blur, blur});
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    const Steps first = bale::draw_steps(alone, {.sample = sample}, 100, 80);
    const Steps second = bale::draw_steps(among, {.sample = sample}, 100, 80);
    CHECK(first.back() == second.back());
    const Steps third = bale::draw_steps(twice, {.sample = sample}, 100, 80);
    CHECK(third[third.size() - 2] == first.back());
    CHECK(third.back() != first.back());
  }
}

TEST_CASE("Probabilities and weights are those of the list") {
  const auto near = [](std::size_t count, double expected) {
    return std::abs(static_cast<double>(count) - expected * 4000) < 150;  // five standard deviations
  };
  const T::CenterCrop end{.size = {32, 32}};
  CHECK(near(count_of<bale::step::Invert>(bale::list_transform({T::RandomInvert{.p = 0.3}, end}), 4000), 0.3));
  const T::RandomApply apply{.transforms = {T::Grayscale{}}, .p = 0.7};
  CHECK(near(count_of<bale::step::Grayscale>(bale::list_transform({apply, end}), 4000), 0.7));
  const T::RandomChoice choice{.transforms = {T::Grayscale{}, T::RandomInvert{.p = 1}}, .p = {1, 3}};
  CHECK(near(count_of<bale::step::Invert>(bale::list_transform({choice, end}), 4000), 0.75));
  const T::RandomChoice equal{.transforms = {T::Grayscale{}, T::RandomInvert{.p = 1}}};
  CHECK(near(count_of<bale::step::Invert>(bale::list_transform({equal, end}), 4000), 0.5));
  const T::RandomErasing erasing{.p = 0.25};
  const Transform erased = bale::list_transform({end, T::ToDtype{}, erasing});
  CHECK(near(count_of<bale::step::Erase>(erased, 4000), 0.25));
}

TEST_CASE("RandomOrder draws every order alike") {
  const T::RandomOrder order{.transforms = {T::Grayscale{}, T::RandomInvert{.p = 1}, T::RandomEqualize{.p = 1}}};
  const Transform transform = bale::list_transform({order, T::CenterCrop{.size = {32, 32}}});
  std::map<std::vector<std::size_t>, int> seen;
  for (std::uint64_t sample = 0; sample < 6000; ++sample) {
    const Steps steps = bale::draw_steps(transform, {.sample = sample}, 100, 80);
    ++seen[{steps[0].index(), steps[1].index(), steps[2].index()}];
  }
  CHECK(seen.size() == 6);
  for (const auto& [indices, count] : seen) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("An image that a list cannot take is a bad sample") {
  const Transform transform = bale::list_transform({T::RandomCrop{.size = {64, 64}}});
  CHECK(bale::draw_steps(transform, {}, 64, 64).empty());
  const bale::Error error = bale::test::error_of([&] { bale::draw_steps(transform, {}, 63, 64); });
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK_THAT(error.message(), ContainsSubstring("63x64 pixels are less than the crop of 64x64"));
}

TEST_CASE("Sizes after a list are known if all images have the same") {
  using bale::transform_detail::output_size;
  const T::CenterCrop crop{.size = {20, 30}};
  CHECK(output_size({crop, T::Pad{.padding = {1, 2, 3, 4}}}) == bale::Size{26, 34});
  CHECK(output_size({crop, T::RandomRotation{.degrees = {-5, 5}}}) == bale::Size{20, 30});
  CHECK_FALSE(output_size({crop, T::RandomRotation{.degrees = {-5, 5}, .expand = true}}));
  CHECK_FALSE(output_size({crop, T::RandomApply{.transforms = {T::CenterCrop{.size = {8, 8}}}}}));
  CHECK(output_size({crop, T::RandomApply{.transforms = {T::CenterCrop{.size = {8, 8}}}, .p = 1}}) == bale::Size{8, 8});
  CHECK(output_size({T::RandomChoice{.transforms = {crop, T::RandomCrop{.size = {20, 30}}}}}) == bale::Size{20, 30});
  CHECK_FALSE(output_size({T::RandomChoice{.transforms = {crop, T::Grayscale{}}}}));
  CHECK_FALSE(output_size({T::Resize{.height = 20}}));
  CHECK(output_size({T::Resize{.height = 20, .width = 21}}) == bale::Size{20, 21});
}

TEST_CASE("RandomIoUCrop is drawn by the boxes, and drawn again without them") {
  const bale::TransformList list{T::RandomZoomOut{}, T::RandomIoUCrop{}, T::RandomHorizontalFlip{},
                                 T::Resize{.height = 32, .width = 32}};
  const Transform transform = bale::list_transform(list);
  const std::vector<bale::Box> boxes{{10, 12, 40, 50}, {60, 20, 90, 70}};
  std::size_t num_crops = 0;
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    const DrawKey key{.seed = 3, .sample = sample};
    const Steps steps = bale::draw_steps(list, key, 100, 80, boxes);
    const bale::Region drawn = bale::transform_detail::iou_crop_of(steps);
    CHECK(bale::transform_detail::draw_again(transform, key, 100, 80, drawn) == steps);
    num_crops += drawn.width > 0 ? 1 : 0;
  }
  CHECK(num_crops > 100);
  CHECK(num_crops < 200);
}

TEST_CASE("Presets of detection have the parameters of torchvision's reference") {
  const std::string ssd = bale::transforms_json(bale::presets::ssd_train());
  CHECK(ssd == bale::transforms_json(bale::parse_transforms(R"([
    {"name": "RandomPhotometricDistort"}, {"name": "RandomZoomOut", "fill": [123, 117, 104]},
    {"name": "RandomIoUCrop", "sampler_options": [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1], "trials": 40, "min_scale": 0.3, "max_scale": 1},
    {"name": "RandomHorizontalFlip", "p": 0.5}, {"name": "SanitizeBoundingBoxes", "min_size": 1, "min_area": 1},
    {"name": "Resize", "height": 300, "width": 300}, {"name": "ToDtype"}])")));
  CHECK(bale::list_transform(bale::presets::ssdlite_train()).width == 320);
  CHECK(bale::list_transform(bale::presets::detection_train(60, 100, bale::DType::float16)).height == 100);
}

TEST_CASE("Transforms inside transforms are refused before they are so many that a stack ends") {
  bale::TransformNode node = T::CenterCrop{{8, 8}};
  for (int i = 0; i < 16; ++i) node = T::Compose{{node}};
  CHECK(bale::list_transform({node}).width == 8);
  const bale::Error error = bale::test::error_of([&] {
    for (int i = 0; i < 200'000; ++i) node = T::Compose{{node}};
  });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK(error.message().find("16") != std::string::npos);
}

TEST_CASE("Numbers that are none of their enumeration are refused") {
  const auto refuses = [](const auto& change) {
    Transform transform = bale::train_transform(8);
    change(transform);
    CHECK(bale::test::code_of([&] { bale::check_transform(transform); }) == ErrorCode::invalid_argument);
  };
  refuses([](Transform& transform) { transform.dtype = static_cast<bale::DType>(5); });
  refuses([](Transform& transform) { transform.layout = static_cast<bale::PixelLayout>(2); });
  refuses([](Transform& transform) { transform.shape = static_cast<Transform::Shape>(3); });
  refuses([](Transform& transform) { transform.mode = static_cast<bale::PixelMode>(4); });
  refuses([](Transform& transform) { transform.pass_order = static_cast<bale::PassOrder>(2); });
  const T::RandomRotation rotation{.interpolation = static_cast<bale::Sampling>(3)};
  CHECK(bale::test::code_of([&] {
          bale::list_transform({rotation, T::CenterCrop{{8, 8}}});
        }) == ErrorCode::invalid_argument);
  for (const auto kind : {bale::FieldKind::boxes, static_cast<bale::FieldKind>(8)}) {
    const bale::Field field{.name = "a", .source = "json", .kind = kind, .box_format = static_cast<bale::BoxFormat>(3)};
    CHECK(bale::test::code_of([&] { bale::checked_fields({field}); }) == ErrorCode::invalid_argument);
  }
}

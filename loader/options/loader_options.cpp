#include "bale/loader/loader_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/loader/options/loader_table.hpp"
#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/members/dtype_name.hpp"

namespace bale {
namespace {

constexpr std::uint32_t k_max_prefetch = 4096;

void refuse_unless(bool right, std::string_view what) {
  if (!right) throw Error(ErrorCode::invalid_argument, what);
}

void check_ranges(const LoaderOptions& options) {
  loader_detail::for_options(options, [](const loader_detail::LoaderRow& row, const auto& value) {
    if constexpr (std::unsigned_integral<std::remove_cvref_t<decltype(value)>>) {
      if (value >= row.least && value <= row.most) return;
      throw Error(ErrorCode::invalid_argument,
                  row.least == 0
                      ? fmt::format("{} of {}; {} is the most", row.keyword, value, row.most)
                      : fmt::format("{} {} is out of range ({} to {})", row.keyword, value, row.least, row.most));
    }
  });
}

bool has_targets(const LoaderOptions& options) {
  return std::any_of(options.fields.begin(), options.fields.end(),
                     [](const Field& field) { return is_target(field.kind); });
}

void check_mixing(const LoaderOptions& options) {
  check_mix(options.mix);
  if (!options.mix.active()) return;
  refuse_unless(!has_targets(options),
                "fields: masks, boxes and keypoints cannot follow mixed images; leave out mix or these fields");
  refuse_unless(options.further_views.empty(), "mix: batches with several views cannot be mixed");
  refuse_unless(options.transform.has_fixed_shape() && options.transform.dtype != DType::uint8 &&
                    options.transform.dtype != DType::uint16,
                "mix needs a transform of a fixed shape and a float dtype");
}

/// torchvision refuses samples without boxes there, too.
void check_boxes(const LoaderOptions& options) {
  if (!loader_detail::any_view(options,
                               [](const Transform& view) { return transform_detail::needs_boxes(view.list->nodes); }))
    return;
  refuse_unless(
      options.further_views.empty(),
      "views: RandomIoUCrop and SanitizeBoundingBoxes are for one view; leave them out, or give one transform");
  const bool has_boxes = std::any_of(options.fields.begin(), options.fields.end(),
                                     [](const Field& field) { return field.kind == FieldKind::boxes; });
  refuse_unless(has_boxes,
                "transform: RandomIoUCrop and SanitizeBoundingBoxes need the boxes of each image; "
                "name them in fields, with the kind boxes");
}

/// A target follows the image of one view, whose pixels are known.
void check_target(const Field& target, const LoaderOptions& options) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, fmt::format("fields: \"{}\" {}", printable(target.name), what));
  };
  const std::size_t num_views = options.num_views();
  if (!target.view && num_views > 1) {
    refuse(fmt::format("follows one of {} views; say which one: view=0 to view={}", num_views, num_views - 1));
  }
  if (target.view && *target.view >= num_views) {
    refuse(fmt::format("follows view {}, but there {} {}", *target.view, num_views == 1 ? "is" : "are", num_views));
  }
  for (std::size_t source = 0; source < options.num_view_lists(); ++source) {
    const Transform& view = options.view(target.view.value_or(0), source);
    refuse_unless(view.shape != Transform::Shape::raw,
                  "fields: masks, boxes and keypoints need decoded images; the transform is raw()");
    refuse_unless(target.kind != FieldKind::mask || view.has_fixed_shape(),
                  "fields: masks need a transform that makes images of one size");
    refuse_unless(!transform_detail::mixes_geometries(view.list->nodes),
                  "fields: masks, boxes and keypoints cannot follow AugMix, which mixes images of several geometries");
  }
}

void check_times(const LoaderOptions& options) {
  const auto is_time = [](double seconds) { return seconds >= 0; };  // NaN is not
  refuse_unless(is_time(options.stall_timeout_s), "stall_timeout_s is not a number of seconds");
  refuse_unless(is_time(options.storage_timeout_s), "storage_timeout_s is not a number of seconds");
}

void check_own(const LoaderOptions& options) {
  if (!options.own_decoder && !options.own_transform) return;
  refuse_unless(options.workers == 0 || options.worker_mode == WorkerMode::threads,
                "own_decoder and own_transform are functions of this process; set worker_mode to threads");
  refuse_unless(options.device_pixels == 0, "own_decoder and own_transform are not for images that a device decodes");
  refuse_unless(!options.own_transform || options.transform.shape != Transform::Shape::raw,
                "own_transform needs decoded images; the transform is raw()");
}

std::string form_text(const Transform& transform) {
  using Shape = Transform::Shape;
  if (transform.shape == Shape::raw) return "stored bytes";
  const std::string type = fmt::format("{} channels, {}, {}", transform.channels(), dtype_name(transform.dtype),
                                       transform.layout == PixelLayout::nhwc ? "nhwc" : "nchw");
  if (transform.shape == Shape::ragged) return fmt::format("images of their own sizes, {}", type);
  return fmt::format("{} x {} pixels, {}", transform.width, transform.height, type);
}

/// A batch has images of all sources.
void use_source_transforms(LoaderOptions& options) {
  if (options.source_transforms.empty()) return;
  refuse_unless(options.source_transforms.size() % options.num_views() == 0,
                fmt::format("source_transforms: {} for {} views; give one per source and view",
                            options.source_transforms.size(), options.num_views()));
  options.transform = options.source_transforms.front();
  const auto further = options.further_views_of(0);
  options.further_views = {further.begin(), further.end()};
  for (std::size_t i = 0; i < options.source_transforms.size(); ++i) {
    const Transform& transform = options.source_transforms[i];
    check_transform(transform);
    const Transform& first = options.view(i % options.num_views());
    if (transform.mode == first.mode && form_text(transform) == form_text(first)) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("transforms: source {} has {}, and source 0 has {}", i / options.num_views(),
                            form_text(transform), form_text(first)),
                {.hint = "a batch has images of all sources: give their transforms one size, mode, type and layout"});
  }
}

/// Numbers that a cast has made of something else.
void check_enumerations(const LoaderOptions& options) {
  refuse_unless(options.worker_mode <= WorkerMode::threads, "worker_mode is none of WorkerMode");
  refuse_unless(options.on_bad_sample <= OnBadSample::substitute, "on_bad_sample is none of OnBadSample");
  refuse_unless(options.tail <= Tail::uneven, "tail is none of Tail");
  refuse_unless(options.labels <= Labels::separate, "labels is none of Labels");
  refuse_unless(options.shuffle.kind <= Shuffle::Kind::stream, "shuffle is none of Shuffle::Kind");
}

}  // namespace

LoaderOptions checked(LoaderOptions options) {
  using loader_detail::k_max_workers;
  if (options.workers == k_workers_auto) options.workers = loader_detail::default_workers();
  refuse_unless(options.workers <= k_max_workers,
                fmt::format("{} workers; {} is the most", options.workers, k_max_workers));
  check_ranges(options);
  refuse_unless(options.prefetch >= 2 || options.workers == 0,
                "prefetch must be at least 2: you hold one batch while the next is made");
  refuse_unless(options.prefetch > 0 && options.prefetch <= k_max_prefetch,
                fmt::format("prefetch of {} batches; 1 to {} are possible", options.prefetch, k_max_prefetch));
  check_times(options);
  check_enumerations(options);
  check_own(options);
  use_source_transforms(options);
  check_transform(options.transform);
  for (const Transform& view : options.further_views) {
    check_transform(view);
    refuse_unless(view.mode == options.transform.mode,
                  "views: all must have the same mode, as each image is decoded once");
    if (view.has_fixed_shape() && options.transform.has_fixed_shape()) continue;
    throw Error(ErrorCode::invalid_argument, "views: each must have a fixed shape");
  }
  options.fields = checked_fields(std::move(options.fields));
  check_mixing(options);
  for (const Field& field : options.fields) {
    if (is_target(field.kind)) check_target(field, options);
  }
  check_boxes(options);
  if (!options.augment_seed) options.augment_seed = options.seed;
  if (!options.persistent_workers) options.prefetch_next_epoch = false;
  return options;
}

namespace loader_detail {

namespace {

unsigned num_local_ranks() {
  const char* const text = std::getenv("LOCAL_WORLD_SIZE");
  const long number = text != nullptr ? std::strtol(text, nullptr, 10) : 1;
  return static_cast<unsigned>(std::clamp(number, 1L, 1L << 16));
}

}  // namespace

unsigned share_of_cores(const CoresOfRank& cores) {
  const bool is_shared = cores.parents <= cores.own;
  const unsigned share = std::max(is_shared ? cores.own / cores.num_ranks : cores.own, 1U);
  const auto quota = cores.quota ? std::optional(*cores.quota / cores.num_ranks) : std::nullopt;
  return limited_by(quota, share);
}

unsigned default_workers() {
  const unsigned own = affinity_cores().value_or(usable_cores());
  return share_of_cores({.own = own,
                         .parents = affinity_cores(::getppid()).value_or(own),
                         .quota = cpu_quota(),
                         .num_ranks = num_local_ranks()});
}

}  // namespace loader_detail

}  // namespace bale

#include "bale/loader/loader_options.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/default_workers.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/transform/list/check.hpp"

namespace bale {
namespace {

constexpr std::uint32_t k_max_prefetch = 4096;
constexpr std::uint64_t k_max_seek_point_cache_bytes = std::uint64_t{1} << 40;

void refuse_unless(bool right, std::string_view what) {
  if (!right) throw Error(ErrorCode::invalid_argument, what);
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
  const auto needs_boxes = [](const Transform& view) { return transform_detail::needs_boxes(view.list->nodes); };
  const bool any_further = std::any_of(options.further_views.begin(), options.further_views.end(), needs_boxes);
  if (!needs_boxes(options.transform) && !any_further) return;
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
  const Transform& view = options.view(target.view.value_or(0));
  refuse_unless(view.shape != Transform::Shape::raw,
                "fields: masks, boxes and keypoints need decoded images; the transform is raw()");
  refuse_unless(target.kind != FieldKind::mask || view.has_fixed_shape(),
                "fields: masks need a transform that makes images of one size");
  refuse_unless(!transform_detail::mixes_geometries(view.list->nodes),
                "fields: masks, boxes and keypoints cannot follow AugMix, which mixes images of several geometries");
}

}  // namespace

LoaderOptions checked(LoaderOptions options) {
  using loader_detail::k_max_rows;
  using loader_detail::k_max_workers;
  if (options.workers == k_workers_auto) options.workers = loader_detail::default_workers();
  refuse_unless(options.workers <= k_max_workers,
                fmt::format("{} workers; {} is the most", options.workers, k_max_workers));
  refuse_unless(options.batch_size > 0 && options.batch_size <= k_max_rows,
                fmt::format("batch_size {} is out of range (1 to {})", options.batch_size, k_max_rows));
  refuse_unless(options.prefetch >= 2 || options.workers == 0,
                "prefetch must be at least 2: you hold one batch while the next is made");
  refuse_unless(options.prefetch > 0 && options.prefetch <= k_max_prefetch,
                fmt::format("prefetch of {} batches; 1 to {} are possible", options.prefetch, k_max_prefetch));
  refuse_unless(options.seek_point_cache_bytes <= k_max_seek_point_cache_bytes,
                fmt::format("seek_point_cache_bytes of {}; {} is the most", options.seek_point_cache_bytes,
                            k_max_seek_point_cache_bytes));
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

}  // namespace bale

#include "bale/loader/worker/worker.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/loader/transform/list/check.hpp"

namespace bale::loader_detail {
namespace {

constexpr int k_idle_check_ms = 400;
/// After this many rows next to it, an image is decoded alone, so that its batch does not wait for long.
constexpr std::uint32_t k_most_partners = 8;

/// Whether a worker has died at this row before. Such a row is filled alone, so that no other row is taken for the
/// cause if a worker dies again.
bool is_suspect(const Row& row) { return row.kills + row.interruptions > 0; }

/// During its lifetime the worker waits for bytes, which is not a sample's fault.
class Reading {
 public:
  explicit Reading(WorkerEntry& entry) : entry_(entry) { mark(1); }
  ~Reading() { mark(0); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  void mark(std::uint32_t reading) {
    entry_.busy_since_ns.store(now_ns());
    entry_.reading.store(reading);
  }
  WorkerEntry& entry_;
};

/// Adds the shard's path and the sample's key to an error: the pipeline knows only bytes.
template <typename Work>
auto with_sample_context(const Row& row, const Shard& shard, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.code(), error.message(),
                {.path = shard.path(), .key = std::string(shard.index().key(row.sample_in_shard))});
  }
}

/// A function of the program, whose exceptions are its own: an error about a file is not one about the shard.
template <typename Call>
void call_own(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    if (is_lack_of_resources(error) || is_data_error(error)) throw;
    throw Error(ErrorCode::damaged, error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::damaged, error.what());
  }
}

}  // namespace

Worker::Worker(Ring& ring, const WorkerConfig& config, std::uint32_t number, ShardOf shard_of)
    : ring_(ring),
      config_(config),
      options_(config.options),
      number_(number),
      shard_of_(std::move(shard_of)),
      lanes_{Lane(options_), Lane(options_)},
      seek_point_cache_(ring.kept(), config.num_samples),
      view_places_(options_.transform.image_bytes() * ring.shape().batch_size, options_.further_views,
                   ring.shape().batch_size),
      field_filler_(options_.fields, FieldSlots(config.field_rooms, ring.shape().batch_size), options_.max_pixels),
      draws_by_boxes_(any_view(
          options_, [](const Transform& view) { return transform_detail::crops_by_boxes(view.list->nodes); })) {}

void Worker::begin(Lane& lane) {
  const Row& row = row_of(lane);
  // Devices decode files.
  const bool is_for_others = options_.device_pixels != 0 || options_.own_decoder;
  const FieldForm form = is_for_others ? FieldForm::original : FieldForm::decodable;
  {
    const Reading reading(ring_.worker(number_));
    lane.shard = {};  // of the row before
    lane.shard = shard_of_(row.shard, row.identity);
    lane.image = options_.field.empty()
                     ? lane.shard->read_image(row.sample_in_shard, lane.scratch, form)
                     : lane.shard->read_field(row.sample_in_shard, options_.field, lane.scratch, form);
    field_filler_.fill(*lane.shard, row.sample_in_shard, ring_.fields(lane.claim.slot), lane.claim.row);
    if (!options_.label_field.empty()) read_label(lane);
  }
  const transform_detail::Boxes boxes = boxes_to_draw_by(lane);
  const Shard& shard = *lane.shard;
  const DrawKey& key = row.key;
  lane.pipeline = &lane.pipelines[lane.pipelines.size() == 1 ? 0 : row.source];
  if (options_.own_decoder) {
    lane.has_seek_points = true;  // those of another image would be kept
    with_sample_context(row, shard, [&] {
      call_own([&] { lane.image = options_.own_decoder(lane.image, lane.decoded); });
      lane.pipeline->begin(lane.image, key, {}, WholeCheck::end, boxes);
    });
  } else {
    const KeptSeekPoints kept = kept_seek_points(lane);
    lane.has_seek_points = !kept.record.empty();
    const WholeCheck check = whole_check(shard, row);
    with_sample_context(row, shard, [&] { lane.pipeline->begin(lane.image, key, kept, check, boxes); });
  }
  if (field_filler_.has_targets()) fill_targets(lane);
  lane.encoded = left_to_device(lane);
}

/// The session has written that there is none.
void Worker::read_label(const Lane& lane) {
  const auto label = field_filler_.label(*lane.shard, row_of(lane).sample_in_shard, options_.label_field);
  if (label) ring_.labels(lane.claim.slot)[lane.claim.row] = *label;
}

/// What a device does with the image, if it decodes it. That depends on the image alone, so it is the same in every
/// run.
std::optional<EncodedImage> Worker::left_to_device(const Lane& lane) const {
  if (options_.device_pixels == 0 || ring_.asks_for_pixels()) return std::nullopt;
  const AppliedTransform begun = lane.pipeline->begun();
  const std::uint64_t pixels = std::uint64_t{begun.source_width} * begun.source_height;
  if (pixels > options_.device_pixels || lane.image.size() > row_of(lane).capacity) return std::nullopt;
  return lane.pipeline->left_to_device();
}

void Worker::leave_to_device(const Lane& lane) {
  Row& row = row_of(lane);
  const AppliedTransform begun = lane.pipeline->begun();
  std::copy(lane.image.begin(), lane.image.end(),
            ring_.pixels(lane.claim.slot).begin() + static_cast<std::ptrdiff_t>(row.offset));
  row.source_width = begun.source_width;
  row.source_height = begun.source_height;
  row.bytes = lane.image.size();
  row.encoded = *lane.encoded;
  row.iou_crop = begun.iou_crop;
}

/// The boxes of the sample, if its transform depends on them.
transform_detail::Boxes Worker::boxes_to_draw_by(const Lane& lane) {
  if (!draws_by_boxes_) return {};
  const Reading reading(ring_.worker(number_));
  return field_filler_.boxes(*lane.shard, row_of(lane).sample_in_shard);
}

void Worker::fill_targets(Lane& lane) {
  const AppliedTransform begun = lane.pipeline->begun();
  for (std::size_t view = 0; view < lane.views.size(); ++view) {
    lane.views[view] = {.size = {begun.source_width, begun.source_height}, .steps = lane.pipeline->steps(view)};
  }
  const Reading reading(ring_.worker(number_));
  field_filler_.fill_targets(*lane.shard, row_of(lane).sample_in_shard, lane.views, ring_.fields(lane.claim.slot),
                             lane.claim.row);
}

void Worker::finish(Lane& lane) {
  if (lane.encoded) return leave_to_device(lane);
  Row& row = row_of(lane);
  row.encoded = {};
  const MutableBytes place = ring_.pixels(lane.claim.slot).subspan(row.offset, row.capacity);
  for (std::size_t view = 0; view < view_places_.num_further(); ++view) {
    lane.further_places[view] = view_places_.row(ring_.pixels(lane.claim.slot), view, lane.claim.row);
  }
  const AppliedTransform applied =
      with_sample_context(row, *lane.shard, [&] { return lane.pipeline->finish(place, lane.further_places); });
  row.source_width = applied.source_width;
  row.source_height = applied.source_height;
  row.bytes = applied.bytes;
  row.iou_crop = applied.iou_crop;
  if (options_.own_transform) {
    with_sample_context(row, *lane.shard, [&] { run_own_transform(lane, applied, place); });
  }
  if (!lane.has_seek_points) cache_seek_points(row, lane.image);
}

void Worker::run_own_transform(const Lane& lane, const AppliedTransform& applied, MutableBytes place) {
  for (std::size_t view = 0; view < options_.num_views(); ++view) {
    const Transform& transform = options_.view(view, row_of(lane).source);
    const bool is_fixed = transform.has_fixed_shape();
    const MutableBytes pixels =
        view == 0 ? place.first(is_fixed ? transform.image_bytes() : applied.bytes) : lane.further_places[view - 1];
    DrawKey key = row_of(lane).key;
    key.view = view;
    call_own([&] {
      options_.own_transform({.transform = transform,
                              .key = key,
                              .width = is_fixed ? transform.width : applied.source_width,
                              .height = is_fixed ? transform.height : applied.source_height,
                              .pixels = pixels});
    });
  }
}

/// Does the next step for a row, unless the row has failed.
template <typename Work>
void Worker::attempt(Lane& lane, const Work& work) {
  if (lane.has_failed()) return;
  try {
    try {
      work(lane);
    } catch (const Error& caught) {
      lane.error = lane.shard ? lane.shard->judged(caught) : caught;
      lane.fault = is_data_error(*lane.error) ? FaultOf::sample : FaultOf::run;
    }
  } catch (const std::bad_alloc&) {  // also of the error's texts
    lane.is_out_of_memory = true;
  }
}

void Worker::attempt_begin(Lane& lane) {
  lane.error.reset();
  lane.is_out_of_memory = false;
  lane.encoded.reset();
  attempt(lane, [this](Lane& one) { begin(one); });
}

void Worker::attempt_finish(Lane& lane) {
  attempt(lane, [this](Lane& one) { finish(one); });
  if (lane.is_out_of_memory) {
    ring_.fail_out_of_memory(lane.claim, config_.shards[row_of(lane).shard]);
  } else if (lane.error) {
    ring_.fail(lane.claim, *lane.error, lane.fault);
  } else {
    ring_.finish(lane.claim);
  }
  lane.is_held = false;
  ring_.worker(number_).rows_done.fetch_add(1);
}

/// Decodes both images until one of them is decoded, and finishes that row.
void Worker::decode_beside() {
  std::array<bool, 2> ready{true, true};
  try {
    ready = SamplePipeline::decode_ahead(*lanes_[0].pipeline, *lanes_[1].pipeline);
  } catch (const std::exception&) {  // then each is decoded by itself, and fails by itself
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (ready[i]) attempt_finish(lanes_[i]);
  }
}

/// If the index says that the image is complete and checksums prove its bytes unchanged, there is nothing to check. An
/// image that could not be decoded is decoded as a whole, so that it fails whichever part of it is needed.
WholeCheck Worker::whole_check(const Shard& shard, const Row& row) const {
  const ShardIndex& index = shard.index();
  const auto image = index.image_field(row.sample_in_shard);
  if (!options_.field.empty() && index.field_id(options_.field) != image) return WholeCheck::end;
  switch (index.condition(row.sample_in_shard)) {
    case ImageCondition::complete:
      return options_.verify_checksums && index.has_checksums() ? WholeCheck::none : WholeCheck::end;
    case ImageCondition::incomplete:
    case ImageCondition::undecodable:
      return WholeCheck::decode;
    case ImageCondition::unknown:
      break;
  }
  return WholeCheck::end;
}

/// The seek points of an image that was just read. If its checksum was not compared, it is computed here: seek points
/// are valid only for the bytes that they were made from.
KeptSeekPoints Worker::kept_seek_points(Lane& lane) const {
  const Shard& shard = *lane.shard;
  const Row& row = row_of(lane);
  if (config_.may_have_seek_points) lane.seek_points = shard.seek_points(row.sample_in_shard);
  Bytes record = lane.seek_points;
  if (record.empty()) record = seek_point_cache_.record(row.sample);
  if (record.empty()) return {};
  const ShardIndex& index = shard.index();
  if (!options_.verify_checksums || !index.has_checksums())
    return {.record = record, .image_crc32c = crc32c(lane.image)};
  const auto field = options_.field.empty() ? index.image_field(row.sample_in_shard) : index.field_id(options_.field);
  return {.record = record, .image_crc32c = index.extent(row.sample_in_shard, *field).crc32c};
}

/// Keeps seek points of the image for later epochs.
void Worker::cache_seek_points(const Row& row, Bytes image) {
  if (options_.transform.shape == Transform::Shape::raw || !seek_point_cache_.wants(row.sample)) return;
  try {
    seek_point_cache_.keep(row.sample, make_seek_points(image));
  } catch (const std::bad_alloc&) {  // the row is done in any case
  }
}

/// Claims a row for a lane that has none, and begins it.
Worker::RowStep Worker::take_row(Lane& lane, Lane& other) {
  const auto claim = ring_.claim(number_);
  if (!claim) return RowStep::nothing;
  lane.claim = *claim;
  lane.is_held = true;
  lane.num_partners = 0;
  const bool is_alone = options_.transform.shape == Transform::Shape::raw || is_suspect(row_of(lane));
  if (is_alone && other.is_held) attempt_finish(other);
  attempt_begin(lane);
  if (!is_alone && !lane.has_failed() && !lane.encoded) return RowStep::begun;
  attempt_finish(lane);
  return RowStep::finished;
}

/// False if there was nothing to do.
bool Worker::step_busy() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    Lane& other = lanes_[1 - i];
    if (lane.is_held) continue;
    if (other.is_held && other.num_partners++ == k_most_partners) {
      attempt_finish(other);
      return true;
    }
    const RowStep took = take_row(lane, other);
    if (took == RowStep::finished) return true;
    if (took == RowStep::nothing) {
      const bool held_one = other.is_held;
      if (held_one) attempt_finish(other);
      return held_one;
    }
  }
  decode_beside();
  return true;
}

bool Worker::step() {
  // Busy is set before the claim: a worker that is stopped after this may hold a row, or keep one from other workers.
  WorkerEntry& entry = ring_.worker(number_);
  const std::uint64_t now = now_ns();
  entry.seen_ns.store(now);
  entry.busy_since_ns.store(now);
  const bool did_work = step_busy();
  if (!lanes_[0].is_held && !lanes_[1].is_held) entry.busy_since_ns.store(0);
  return did_work;
}

void Worker::run(const std::function<bool()>& should_continue) {
  const RemoteWaitPoll end_when_stopped([this] {
    if (ring_.stopped()) throw Error(ErrorCode::interrupted, "the loader ends");
  });
  const RemoteRetryNotes tell([this](const Error& error) { ring_.tell_retry(number_, error); });
  while (!ring_.stopped()) {
    const std::uint32_t seen = ring_.publications();
    if (step()) continue;
    if (!should_continue()) return;
    if (!ring_.stopped()) ring_.wait_for_work(seen, k_idle_check_ms);
  }
  for (Lane& lane : lanes_) {
    if (lane.is_held) attempt_finish(lane);
  }
  ring_.worker(number_).busy_since_ns.store(0);
}

}  // namespace bale::loader_detail

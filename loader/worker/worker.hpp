// Worker: claims rows of the ring and fills them. One per thread, in the loader's process or in a worker process.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/loader/worker/field_filler.hpp"
#include "bale/loader/worker/seek_point_cache.hpp"
#include "bale/loader/worker/worker_config.hpp"
#include "bale/reader/in_use.hpp"

namespace bale::loader_detail {

/// The shard with that number, which the loader holds as `known`. It is open as long as the result is held. Throws if
/// the shard cannot be opened, and `changed` if it is another one.
using ShardOf = std::function<ShardInUse(std::uint32_t shard, const ShardIdentity& known)>;

class Worker {
 public:
  /// `ring` and `config` must outlive the worker.
  Worker(Ring& ring, const WorkerConfig& config, std::uint32_t number, ShardOf shard_of);

  /// Claims up to two rows and fills one of them, or both. Their images are decoded together, and the one that takes
  /// longer goes on next to that of the next row. Returns false if there is no row to claim, and none is held. Errors
  /// are stored in the rows.
  bool step();
  /// Fills rows until the ring is stopped or `should_continue` returns false. It is called while there is no row to
  /// claim, at least twice per second.
  void run(const std::function<bool()>& should_continue);

 private:
  /// What is needed to fill one row; reused for the next one.
  struct Lane {
    explicit Lane(const LoaderOptions& options)
        : further_places(options.further_views.size()), views(options.num_views()) {
      for (std::size_t source = 0; source < options.num_view_lists(); ++source) {
        pipelines.emplace_back(options.view(0, source), options.max_pixels, options.further_views_of(source));
      }
    }

    std::vector<SamplePipeline> pipelines{};  // one, or one per source
    SamplePipeline* pipeline = nullptr;       // that of the row
    std::vector<MutableBytes> further_places;
    std::vector<transform_detail::ImageSteps> views;  // for targets
    Scratch scratch{};
    bool is_held = false;            // it has a row, whose image may be partly decoded
    std::uint32_t num_partners = 0;  // rows of the other lane since then
    Claim claim{};
    ShardInUse shard{};
    Bytes image{};
    std::vector<std::byte> decoded{};      // by own_decoder
    std::vector<std::byte> seek_points{};  // from the file next to the shard
    bool has_seek_points = false;
    std::optional<EncodedImage> encoded{};  // a device decodes the image
    std::optional<Error> error{};
    FaultOf fault = FaultOf::sample;
    bool is_out_of_memory = false;  // an error of its own, which takes no memory
    bool has_failed() const { return error || is_out_of_memory; }
  };

  enum class RowStep { nothing, begun, finished };
  RowStep take_row(Lane& lane, Lane& other);
  bool step_busy();
  void decode_beside();
  template <typename Work>
  void attempt(Lane& lane, const Work& work);
  void attempt_begin(Lane& lane);
  void attempt_finish(Lane& lane);
  void begin(Lane& lane);
  transform_detail::Boxes boxes_to_draw_by(const Lane& lane);
  void read_label(const Lane& lane);
  void fill_targets(Lane& lane);
  std::optional<EncodedImage> left_to_device(const Lane& lane) const;
  void leave_to_device(const Lane& lane);
  void finish(Lane& lane);
  void run_own_transform(const Lane& lane, const AppliedTransform& applied, MutableBytes place);
  Row& row_of(const Lane& lane) const { return ring_.row(lane.claim.slot, lane.claim.row); }
  WholeCheck whole_check(const Shard& shard, const Row& row) const;
  KeptSeekPoints kept_seek_points(Lane& lane) const;
  void cache_seek_points(const Row& row, Bytes image);

  Ring& ring_;
  const WorkerConfig& config_;
  const LoaderOptions& options_;  // of config_
  std::uint32_t number_;
  ShardOf shard_of_;
  std::array<Lane, 2> lanes_;
  SeekPointCache seek_point_cache_;
  ViewLayout view_places_;
  FieldFiller field_filler_;
  bool draws_by_boxes_;
};

}  // namespace bale::loader_detail

#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"

#include <algorithm>
#include <utility>

#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"

namespace bale::image_detail {
namespace {

constexpr std::int32_t k_max_dc = 16383;
// libjpeg reads up to 8 bytes ahead, and more at the ends of blocks.
constexpr std::size_t k_read_ahead_bytes = 64;
// An entry may advance up to 32 places past the last coefficient before the error is detected.
constexpr std::size_t k_num_places = 128;
// The target at which a run stops, and the one after it, which is read but not used.
constexpr std::size_t k_targets_behind = 2;

using Places = std::array<std::uint16_t, k_num_places>;

constexpr Places make_places(BlockOrder order) {
  Places places{};
  for (std::size_t i = 0; i < k_num_places; ++i) places[i] = place_in(order, std::min<std::size_t>(i, 63));
  return places;
}

constexpr Places k_natural_places = make_places(BlockOrder::natural);
constexpr Places k_pair_places = make_places(BlockOrder::pairs);

// For a block that is not stored, not in zigzag order: one place for DC, and one for all other coefficients.
constexpr Places make_passing_places() {
  Places places{};
  for (std::size_t i = 1; i < k_num_places; ++i) places[i] = 1;
  return places;
}

constexpr Places k_passing_places = make_passing_places();
constexpr std::size_t k_passed_values = 2;

}  // namespace

bool EntropyDecoder::open(const BaselineFrame& frame, bool plain, bool counts) {
  std::array<ProbeTable*, 3> dc{};
  std::array<ProbeTable*, 3> ac{};
  counts_ = counts;
  num_blocks_ = 0;
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    const BaselineComponent& component = frame.components[i];
    // Luma's symbols are counted separately.
    for (std::uint32_t j = counts ? 1 : 0; j < i; ++j) {
      if (frame.components[j].dc_codes == component.dc_codes) dc[i] = dc[j];
      if (frame.components[j].ac_codes == component.ac_codes) ac[i] = ac[j];
    }
    if (dc[i] == nullptr) {
      if (!dc_tables_[i].build_dc(*component.dc_codes)) return false;
      dc[i] = &dc_tables_[i];
    }
    if (ac[i] == nullptr) {
      if (!ac_tables_[i].build_ac(*component.ac_codes)) return false;
      ac[i] = &ac_tables_[i];
    }
    if (counts) {
      dc_tables_[i].clear_uses();
      ac_tables_[i].clear_uses();
    }
    for (std::uint32_t row = 0; row < component.blocks_down; ++row) {
      for (std::uint32_t column = 0; column < component.blocks_across; ++column) {
        blocks_[num_blocks_++] = {i, column, row, component.blocks_across, dc[i], ac[i]};
      }
    }
  }
  has_bmi2_ = !plain && use_bmi2();
  mcus_across_ = frame.mcus_across;
  restart_interval_ = frame.restart_interval;
  scan_ = frame.scan;
  passed_.clear();
  order_ = BlockOrder::natural;
  for (auto& values : passed_values_) {
    values.resize((std::size_t{num_blocks_} * mcus_across_ + 1) * k_passed_values + k_block_end);
  }
  return true;
}

void EntropyDecoder::go_to_top() {
  Stream& stream = streams_[0];
  stream.mcus_to_restart = restart_interval_;
  stream.next_restart = 0;
  stream.segment.open(scan_);
  start_segment(stream);
}

/// In zigzag order, the next blocks' values overwrite all but DC.
EntropyDecoder::BlockTarget EntropyDecoder::passing_target(std::size_t n, const BlockOfMcu& block, std::size_t number) {
  std::int16_t* const values = passed_values_[n].data();
  if (order_ == BlockOrder::zigzag) return {block.dc, block.ac, values + number, nullptr};
  return {block.dc, block.ac, values + k_passed_values * number, k_passing_places.data()};
}

EntropyDecoder::BlockTarget EntropyDecoder::stop_target() {
  return {&stop_table_, &stop_table_, &passed_values_[0].back() - 1, k_passing_places.data()};
}

void EntropyDecoder::store_in(std::span<const CoefficientRows> to, const McuRange& stored, BlockOrder order) {
  const std::uint16_t* const places = order == BlockOrder::zigzag  ? nullptr
                                      : order == BlockOrder::pairs ? k_pair_places.data()
                                                                   : k_natural_places.data();
  order_ = order;
  passed_.clear();
  end_stored_ = stored.end;
  for (std::size_t n = 0; n < to.size(); ++n) {
    Targets& targets = targets_[n];
    targets.clear();
    for (std::uint32_t mcu = 0; mcu < mcus_across_; ++mcu) {
      for (std::uint32_t i = 0; i < num_blocks_; ++i) {
        const BlockOfMcu& block = blocks_[i];
        if (mcu < stored.begin || mcu >= stored.end) {
          targets.push_back(passing_target(n, block, targets.size()));
          continue;
        }
        const CoefficientRow& row = to[n][block.component];
        const std::size_t index = block.row * row.blocks_across + (mcu - stored.begin) * block.across + block.column;
        targets.push_back({block.dc, block.ac, row.coefficients + index * k_block_size, places});
      }
    }
    targets.resize(targets.size() + k_targets_behind);
  }
}

void EntropyDecoder::store_after(const std::array<std::size_t, 3>& steps) {
  BlockTarget* target = targets_[0].data();
  for (std::uint32_t mcu = 0; mcu < mcus_across_; ++mcu) {
    for (std::uint32_t i = 0; i < num_blocks_; ++i) (target++)->to += steps[blocks_[i].component];
  }
}

void EntropyDecoder::start_segment(Stream& stream) {
  stream.segment.next();
  stream.in = {.bits = 0, .count = 0, .next = stream.segment.data()};
  stream.predictions.fill(0);
}

std::size_t EntropyDecoder::used_bits(const Stream& stream) {
  return static_cast<std::size_t>(stream.in.next - stream.segment.data()) * 8 - stream.in.count;
}

bool EntropyDecoder::restart(Stream& stream, std::uint32_t interval) {
  // Only restart markers that directly follow the last MCU, and in sequence.
  if ((used_bits(stream) + 7) / 8 != stream.segment.size()) return false;
  if (stream.segment.marker() != jpeg_marker::k_rst0 + stream.next_restart) return false;
  stream.next_restart = (stream.next_restart + 1) % 8;
  stream.mcus_to_restart = interval;
  start_segment(stream);
  return true;
}

bool EntropyDecoder::ends_well(bool at_bottom) const {
  const SegmentReader& segment = streams_[0].segment;
  const std::size_t used = (used_bits(streams_[0]) + 7) / 8;
  if (used > segment.size()) return false;
  if (at_bottom) return segment.marker() == jpeg_marker::k_eoi;
  return segment.marker() != SegmentReader::k_no_marker || segment.size() - used >= k_read_ahead_bytes;
}

std::optional<Bytes> EntropyDecoder::after_end(const Stream& stream) {
  const SegmentReader& segment = stream.segment;
  if ((used_bits(stream) + 7) / 8 != segment.size() || segment.marker() != jpeg_marker::k_eoi) return std::nullopt;
  return segment.rest();
}

bool EntropyDecoder::begin_row(bool store) {
  if (!store && passed_.empty()) {
    for (std::uint32_t mcu = 0; mcu < mcus_across_; ++mcu) {
      for (std::uint32_t i = 0; i < num_blocks_; ++i) passed_.push_back(passing_target(0, blocks_[i], passed_.size()));
    }
    passed_.resize(passed_.size() + k_targets_behind);
  }
  run_ = {.stream = &streams_[0], .targets = store ? &targets_[0] : &passed_, .first = 0, .count = 0};
  stores_ = store;
  failed_ = !begin_run();
  return !failed_;
}

/// A run ends at the end of the row or at the next restart marker.
bool EntropyDecoder::begin_run() {
  Stream& stream = streams_[0];
  run_.count = mcus_across_ - run_.first;
  if (restart_interval_ > 0) {
    if (stream.mcus_to_restart == 0 && !restart(stream, restart_interval_)) return false;
    run_.count = std::min(run_.count, stream.mcus_to_restart);
    stream.mcus_to_restart -= run_.count;
  }
  chain_ = open_chain(run_, behind_);
  return true;
}

bool EntropyDecoder::end_run() {
  failed_ = !close_chain(chain_, run_, behind_);
  run_.first += run_.count;
  if (!failed_ && !row_is_done()) failed_ = !begin_run();
  return !failed_;
}

bool EntropyDecoder::finish_row() {
  while (!failed_ && !row_is_done()) {
    if (!run_one(chain_, stores_, counts_)) return false;
    end_run();
  }
  return !failed_;
}

bool EntropyDecoder::decode_beside(EntropyDecoder& a, EntropyDecoder& b) {
  // If one of them fails, neither has changed, except for stored coefficients, which will be stored again.
  if (a.order_ != b.order_) return false;
  std::array<Chain, 2> chains{a.chain_, b.chain_};
  if (!run_two(chains, a.order_, a.has_bmi2_ && b.has_bmi2_)) return false;
  a.chain_ = chains[0];
  b.chain_ = chains[1];
  const bool a_goes_on = !a.chain_.is_done() || a.end_run();
  const bool b_goes_on = !b.chain_.is_done() || b.end_run();
  return a_goes_on && b_goes_on;
}

EntropyDecoder::Chain EntropyDecoder::open_chain(const Run& run, BlockTarget& behind) {
  BlockTarget* const begin = run.targets->data() + std::size_t{run.first} * num_blocks_;
  BlockTarget* const end = begin + std::size_t{run.count} * num_blocks_;
  behind = std::exchange(*end, stop_target());
  const SegmentReader& segment = run.stream->segment;
  return {.in = run.stream->in,
          .block = begin,
          .last = end,
          .table = begin->dc,
          .limit = segment.data() + segment.size() + sizeof(std::uint64_t)};
}

bool EntropyDecoder::close_chain(const Chain& chain, const Run& run, const BlockTarget& behind) const {
  Stream& stream = *run.stream;
  (*run.targets)[std::size_t{run.first + run.count} * num_blocks_] = behind;
  stream.in = chain.in;
  return used_bits(stream) <= stream.segment.size() * 8 && add_predictions(run);
}

void EntropyDecoder::begin_rows_at(std::span<const SeekPoint> points) {
  points_ = points;
  num_begun_ = 0;
  num_taken_ = 0;
  is_decoded_.fill(false);
  for (RowLane& lane : lanes_) lane.is_busy = false;
}

std::optional<std::uint32_t> EntropyDecoder::next_row() {
  const std::uint32_t place = num_taken_ % k_max_rows;
  while (!is_decoded_[place]) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!lanes_[i].is_busy && !begin_row_at_point(i)) return std::nullopt;
    }
    if (!run_lanes()) return std::nullopt;
  }
  is_decoded_[place] = false;
  ++num_taken_;
  return place;
}

/// Does nothing if no row is left, or no place is free.
bool EntropyDecoder::begin_row_at_point(std::size_t lane) {
  if (num_begun_ + 1 == points_.size() || num_begun_ == num_taken_ + k_max_rows) return true;
  const std::uint32_t row = num_begun_++;
  const std::uint32_t place = row % k_max_rows;
  if (!go_to(streams_[place], points_[row], points_[row + 1].position)) return false;
  const Run run{.stream = &streams_[place], .targets = &targets_[place], .first = 0, .count = end_stored_};
  lanes_[lane] = {.is_busy = true, .place = place, .run = run};
  chains_[lane] = open_chain(run, lanes_[lane].behind);
  return true;
}

/// Decodes the rows of both lanes, or of the busy one, until one of them is done.
bool EntropyDecoder::run_lanes() {
  if (lanes_[0].is_busy && lanes_[1].is_busy) {
    if (!run_two(chains_, order_, has_bmi2_)) return false;
  } else if (!run_one(chains_[lanes_[0].is_busy ? 0 : 1], true, false)) {
    return false;
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    RowLane& lane = lanes_[i];
    if (!lane.is_busy || !chains_[i].is_done()) continue;
    if (!close_chain(chains_[i], lane.run, lane.behind)) return false;
    is_decoded_[lane.place] = true;
    lane.is_busy = false;
  }
  return true;
}

bool EntropyDecoder::row_ends_at(std::uint32_t place, const SeekPoint& begin, const SeekPoint& end) {
  Stream& stream = streams_[place];
  const std::size_t used = used_bits(stream);
  const std::uint64_t first = begin.position / 8;
  return (first + stream.segment.raw_offset(used / 8)) * 8 + used % 8 == end.position &&
         stream.predictions == end.predictions;
}

/// Turns DC differences into DC values.
bool EntropyDecoder::add_predictions(const Run& run) const {
  const BlockTarget* target = run.targets->data() + std::size_t{run.first} * num_blocks_;
  std::array<std::int32_t, 3> sums = run.stream->predictions;
  std::int32_t most = 0;
  for (std::uint32_t mcu = 0; mcu < run.count; ++mcu) {
    for (std::uint32_t i = 0; i < num_blocks_; ++i, ++target) {
      std::int32_t& sum = sums[blocks_[i].component];
      sum += *target->to;
      most = std::max(most, std::max(sum, -sum));
      *target->to = static_cast<std::int16_t>(sum);
    }
  }
  run.stream->predictions = sums;
  return most <= k_max_dc;
}

void EntropyDecoder::add_counts(bool of_luma, SymbolCounts& dc, SymbolCounts& ac) const {
  const std::size_t first = of_luma ? 0 : 1;
  for (std::size_t i = first; i < (of_luma ? 1 : dc_tables_.size()); ++i) {
    dc_tables_[i].add_uses(dc);
    ac_tables_[i].add_uses(ac);
  }
}

bool EntropyDecoder::locate_row(SeekPoint& point) {
  Stream& stream = streams_[0];
  if (restart_interval_ > 0 && stream.mcus_to_restart == 0 && !restart(stream, restart_interval_)) return false;
  const std::size_t used = used_bits(stream);
  point.position = std::uint64_t{stream.segment.raw_offset(used / 8)} * 8 + used % 8;
  point.predictions = stream.predictions;
  return true;
}

bool EntropyDecoder::go_to(std::uint32_t row, const SeekPoint& point, std::uint64_t end) {
  Stream& stream = streams_[0];
  if (!go_to(stream, point, end)) return false;
  if (restart_interval_ > 0) {
    const std::uint64_t mcus = std::uint64_t{row} * mcus_across_;
    stream.mcus_to_restart = restart_interval_ - static_cast<std::uint32_t>(mcus % restart_interval_);
    stream.next_restart = static_cast<std::uint32_t>(mcus / restart_interval_ % 8);
  }
  return true;
}

bool EntropyDecoder::go_to(Stream& stream, const SeekPoint& point, std::uint64_t end) {
  const std::uint64_t first = point.position / 8;
  // Two bytes more, so that neither the last byte nor its stuffing is cut off.
  const std::uint64_t last = std::min<std::uint64_t>(scan_.size(), end / 8 + 3);
  if (first >= last) return false;
  stream.segment.open(scan_.subspan(first, last - first));
  start_segment(stream);
  stream.predictions = point.predictions;
  stream.in.refill();
  stream.in.use(point.position % 8);
  return true;
}

}  // namespace bale::image_detail

// The Huffman decoding of a baseline scan, one row of MCUs at a time; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_huffman.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_segment.hpp"
#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"

namespace bale::image_detail {

class EntropyDecoder {
 public:
  /// The most places for rows that begin_rows_at() uses.
  static constexpr std::uint32_t k_max_rows = 4;

  /// False if a table is not supported. go_to_top(), go_to() or begin_rows_at() must follow.
  /// `plain` is for tests: no instructions that only some CPUs have. `counts`: begin_row() and finish_row() count the
  /// symbols of what they store.
  bool open(const BaselineFrame& frame, bool plain, bool counts = false);

  /// Goes to the first row of MCUs.
  void go_to_top();

  /// Sets where later rows store the MCUs of `stored`: in `to[0]`, or one after the other after begin_rows_at(). The
  /// blocks lie there in `order`.
  void store_in(std::span<const CoefficientRows> to, const McuRange& stored, BlockOrder order);
  /// Moves the place where the next rows are stored, by component, by this number of coefficients.
  void store_after(const std::array<std::size_t, 3>& steps);

  /// Begins the next row of MCUs, which is stored in `to[0]` or only skipped. False if libjpeg must decode the image;
  /// nothing more can be decoded then. The same holds for the functions below.
  bool begin_row(bool store);
  /// Decodes the rest of the row that was begun.
  bool finish_row();
  bool row_is_done() const { return run_.first == mcus_across_; }
  bool skip_row() { return begin_row(false) && finish_row(); }
  /// Decodes the rows that two decoders have begun, interleaved, until one of them is done: a single decoder mostly
  /// waits for its own last result. False if each must be finished separately.
  static bool decode_beside(EntropyDecoder& a, EntropyDecoder& b);

  /// After the last row that is needed: whether libjpeg, which reads ahead of what it decodes, would not have reached
  /// the end of the bytes either. At the image's bottom: whether the end-of-image marker follows.
  bool ends_well(bool at_bottom) const;
  /// After the image's last row: whether the end-of-image marker follows at once, and no byte follows it.
  bool ends_exactly() const { return ends_exactly(streams_[0]); }
  /// What follows the end-of-image marker; nullopt if that does not come right after what was read.
  std::optional<Bytes> after_end() const { return after_end(streams_[0]); }
  /// Adds the symbols that were counted, of luma (the first component) or of chroma (all others).
  void add_counts(bool of_luma, SymbolCounts& dc, SymbolCounts& ac) const;
  /// The number of bits that were read since the last restart, or since the top.
  std::size_t used_bits() const { return used_bits(streams_[0]); }

  /// Where the next row of MCUs starts. Not to be called after the last row.
  bool locate_row(SeekPoint& point);
  /// Goes to the row of MCUs `row`, which starts at `point`. It and all rows to be decoded after it end before `end`.
  bool go_to(std::uint32_t row, const SeekPoint& point, std::uint64_t end);
  /// Begins with rows whose starts are known: row i starts at points[i] and ends before points[i + 1]. They are decoded
  /// up to the last MCU that is stored, and stored in k_max_rows places. For scans without restarts. `points` must
  /// outlive the decoding.
  void begin_rows_at(std::span<const SeekPoint> points);
  /// Decodes the next of these rows, and interleaved with it those after it. Returns its place in `to` of store_in(),
  /// which is used again after the next call. nullopt if libjpeg must decode the image.
  std::optional<std::uint32_t> next_row();
  /// After the next_row() that returned `place`: whether that row, which started at `begin`, ended in the very state of
  /// `end`. For the image's last row, whether it ended as ends_exactly() says.
  bool row_ends_at(std::uint32_t place, const SeekPoint& begin, const SeekPoint& end);
  bool ends_exactly(std::uint32_t place) const { return ends_exactly(streams_[place]); }

 private:
  static constexpr std::uint32_t k_block_end = 64;

  /// Where one block of a row of MCUs goes. Targets are in scan order.
  struct BlockTarget {
    ProbeTable* dc = nullptr;
    ProbeTable* ac = nullptr;
    std::int16_t* to = nullptr;
    const std::uint16_t* places = nullptr;  // offsets in `to`, by zigzag index; none in zigzag order
  };
  using Targets = std::vector<BlockTarget>;
  /// The state of decoding one row.
  struct Stream {
    SegmentReader segment;
    BitWindow in;
    std::array<std::int32_t, 3> predictions{};
    std::uint32_t mcus_to_restart = 0;
    std::uint32_t next_restart = 0;
  };
  struct BlockOfMcu {
    std::uint32_t component = 0;
    std::uint32_t column = 0;
    std::uint32_t row = 0;
    std::uint32_t across = 1;  // blocks of the component across an MCU
    ProbeTable* dc = nullptr;
    ProbeTable* ac = nullptr;
  };
  /// Consecutive MCUs of one row in one segment.
  struct Run {
    Stream* stream = nullptr;
    Targets* targets = nullptr;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  /// The decoding of a run of blocks. After the last block it stays there and reads nothing more.
  struct Chain {
    bool is_done() const { return block == last; }
    std::size_t probe() const { return in.bits >> (64 - k_probe_bits); }
    std::uint64_t place() const { return moved >> 8 & 0xFF; }
    void go_to_next_block() {
      ++block;
      table = block->dc;
      moved = 0;
    }
    void refill() {
      in.count -= moved & 0xFF;
      moved &= 0xFF00;
      in.refill();
    }

    BitWindow in;  // `count` as of the last refill
    const BlockTarget* block = nullptr;
    const BlockTarget* last = nullptr;
    ProbeTable* table = nullptr;
    const std::uint8_t* limit = nullptr;  // if `in.next` is after it, too much was read
    // A sum of moves: the bits used since the last refill, and above them the place of the next coefficient.
    std::uint64_t moved = 0;
  };
  struct ChainsUntilOneIsDone;

  BlockTarget passing_target(std::size_t n, const BlockOfMcu& block, std::size_t number);
  BlockTarget stop_target();
  bool begin_run();
  bool end_run();
  Chain open_chain(const Run& run, BlockTarget& behind);
  bool close_chain(const Chain& chain, const Run& run, const BlockTarget& behind) const;
  bool add_predictions(const Run& run) const;
  /// What is done with what is decoded, and the order in which it is stored.
  enum class Use { skip, store, store_and_count };
  struct How {
    Use use = Use::skip;
    BlockOrder order = BlockOrder::natural;
  };
  bool run_one(Chain& chain, bool store, bool counts) const;
  static bool run_two(std::array<Chain, 2>& chains, BlockOrder order, bool has_bmi2);
  template <std::size_t k_chains, How k_how>
  [[gnu::always_inline]] static bool run_chains(Chain* chains);
  template <How k_how>
  [[gnu::always_inline]] static bool step(Chain& chain);
  enum class Stuck { none, a, b };
  template <bool k_two, How k_how, int k_count>
  [[gnu::always_inline]] static Stuck steps(Chain& a, Chain& b);
  template <How k_how>
  [[gnu::always_inline]] static void store(const Chain& chain, ProbeMove move, ProbeValues values);
  template <How k_how>
  [[gnu::always_inline]] static bool step_symbol(Chain& chain);
  [[gnu::always_inline]] static void go_on_where_block_ends(ProbeMove step, Chain& chain, ProbeTable* table,
                                                            std::uint64_t moved, const BlockTarget* block);
  bool go_to(Stream& stream, const SeekPoint& point, std::uint64_t end);
  bool begin_row_at_point(std::size_t lane);
  bool run_lanes();
  static bool restart(Stream& stream, std::uint32_t interval);
  static void start_segment(Stream& stream);
  static std::size_t used_bits(const Stream& stream);
  static std::optional<Bytes> after_end(const Stream& stream);
  static bool ends_exactly(const Stream& stream) {
    const std::optional<Bytes> rest = after_end(stream);
    return rest && rest->empty();
  }

  std::array<ProbeTable, 3> dc_tables_;
  std::array<ProbeTable, 3> ac_tables_;
  // The table of a chain after its last block: its entries read no bits.
  ProbeTable stop_table_{};
  std::array<BlockOfMcu, 6> blocks_;
  std::uint32_t num_blocks_ = 0;
  std::array<Stream, k_max_rows> streams_;
  std::array<Targets, k_max_rows> targets_;
  Targets passed_;                                                   // targets of a row that is not stored
  std::array<std::vector<std::int16_t>, k_max_rows> passed_values_;  // of blocks that are not stored
  BlockOrder order_ = BlockOrder::natural;
  // The current run of MCUs, of the row that was begun.
  Run run_;
  Chain chain_;
  BlockTarget behind_;  // the target that the stop target replaced
  // Rows that start at points.
  struct RowLane {
    bool is_busy = false;
    std::uint32_t place = 0;
    Run run{};
    BlockTarget behind{};
  };
  std::span<const SeekPoint> points_;
  std::uint32_t num_begun_ = 0;
  std::uint32_t num_taken_ = 0;
  std::array<bool, k_max_rows> is_decoded_{};  // by place
  std::array<RowLane, 2> lanes_;
  std::array<Chain, 2> chains_;
  bool stores_ = false;
  bool counts_ = false;
  bool failed_ = false;
  std::uint32_t end_stored_ = 0;
  Bytes scan_{};
  bool has_bmi2_ = false;
  std::uint32_t mcus_across_ = 0;
  std::uint32_t restart_interval_ = 0;
};

}  // namespace bale::image_detail

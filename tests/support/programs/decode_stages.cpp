// Measures on one core how long each stage of making a sample takes, and how much it has to do: what is left to gain.
//
//   bale_decode_stages FOLDER [ROUNDS] [--simd NAME]
//
// The samples are the JPEGs of the folder, read from the page cache, in two lanes as in the loader's workers. They are
// made as for training (RandomResizedCrop and flip) and as for evaluation (Resize 256, center crop 224), each also with
// seek points and from planes. Times are CPU time. Most stages cannot run alone: their time is that of all stages up to
// them, minus that of all before them, medians of the rounds. An image that the baseline decoder does not read, such as
// a progressive one, has no Huffman stage; its time is in that of the pixels. Cycles are those of the time stamp
// counter.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/jpeg/pixels/region_pixels.hpp"
#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"
#include "bale/formats/image/jpeg/planes/planes_field.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/loader/transform/view.hpp"
#include "bale/tests/support/programs/decode_measuring.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

using namespace bale::image_detail;
using bale::Region;
using bale::test::cpu_seconds;
using bale::test::median;

constexpr std::size_t k_output_bytes = 224 * 224 * 3;

struct Sample {
  std::vector<std::byte> jpeg{};
  std::vector<std::byte> record{};
  std::vector<std::byte> planes{};
  std::uint32_t crc = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  off_t offset = 0;  // in the file of all samples, of the JPEG
  off_t planes_offset = 0;
  Region region{};  // that is decoded
};

enum class Form { file, with_seek_points, planes };

struct Regime {
  const char* name;
  bale::Transform transform;
  Form form;

  bool seeks() const { return form == Form::with_seek_points; }
  bool has_planes() const { return form == Form::planes; }
  const std::vector<std::byte>& stored(const Sample& sample) const {
    return has_planes() ? sample.planes : sample.jpeg;
  }
};

enum class Part { headers, tables, rows };

/// Cycles of the time stamp counter per second; 0 if the CPU has none.
double counter_rate() {
#if defined(__x86_64__)
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t first = __rdtsc();
  std::chrono::duration<double> elapsed{};
  while (elapsed.count() < 0.05) elapsed = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(__rdtsc() - first) / elapsed.count();
#else
  return 0;
#endif
}

/// Bytes per second that a copy from memory to memory reads and writes together.
double memory_rate() {
  constexpr std::size_t k_size = std::size_t{256} << 20;
  std::vector<std::byte> from(k_size, std::byte{1});
  std::vector<std::byte> to(k_size, std::byte{2});
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double begin = cpu_seconds();
    std::copy(from.begin(), from.end(), to.begin());
    best = std::max(best, 2 * static_cast<double>(k_size) / (cpu_seconds() - begin));
  }
  return best;
}

/// The Huffman stage of the baseline decoder alone.
class HuffmanStage {
 public:
  /// False if the image is none of the baseline decoder's, or has no seek points for each row although it should.
  bool begin(const Sample& sample, bool seeks, Part part) {
    jpeg_.open(sample.jpeg);
    if (part == Part::headers) return false;
    const auto frame = baseline_frame(jpeg_.info());
    if (!frame) return false;
    frame_ = *frame;
    if (!entropy_.open(frame_, false) || !pixels_.prepare(frame_, sample.region, baseline_kernels())) return false;
    seeks_ = seeks && points_.read({.record = sample.record, .image_crc32c = sample.crc}, sample.jpeg.size(), frame_) &&
             points_.rows_between == 1 && frame_.restart_interval == 0;
    if (seeks && !seeks_) return false;
    allocate();
    row_ = seeks ? pixels_.first_mcu_row() : 0;
    if (!seeks) entropy_.go_to_top();
    return part == Part::rows && (seeks || begin_row());
  }
  void finish() {
    if (seeks_) return finish_from_points();
    while (row_ < pixels_.end_mcu_row() && entropy_.finish_row()) end_row();
    row_ = pixels_.end_mcu_row();
  }
  static std::array<bool, 2> go_on_beside(HuffmanStage& a, HuffmanStage& b) {
    if (a.seeks_) return {true, true};
    while (!a.is_done() && !b.is_done()) {
      if (!EntropyDecoder::decode_beside(a.entropy_, b.entropy_)) return {true, true};
      if (a.entropy_.row_is_done()) a.end_row();
      if (b.entropy_.row_is_done()) b.end_row();
    }
    return {a.is_done(), b.is_done()};
  }

 private:
  bool is_done() const { return row_ >= pixels_.end_mcu_row(); }
  bool begin_row() { return entropy_.begin_row(row_ >= pixels_.first_mcu_row()); }
  void end_row() {
    if (++row_ < pixels_.end_mcu_row()) begin_row();
  }
  void finish_from_points() {
    entropy_.begin_rows_at({points_.points.data() + row_, points_.points.data() + pixels_.end_mcu_row() + 1});
    while (row_ < pixels_.end_mcu_row() && entropy_.next_row()) ++row_;
  }
  void allocate() {
    for (CoefficientRows& rows : rows_) {
      for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
        const std::size_t across = pixels_.blocks_across(i);
        const std::size_t size = across * frame_.components[i].blocks_down * k_block_size;
        rows[i] = {.coefficients = reinterpret_cast<std::int16_t*>(memory_[num_used_++ % memory_.size()].get(size * 2)),
                   .blocks_across = across};
      }
    }
    entropy_.store_in({rows_.data(), seeks_ ? rows_.size() : 1}, pixels_.mcus(), BlockOrder::pairs);
  }

  JpegDecoder jpeg_{};
  BaselineFrame frame_{};
  EntropyDecoder entropy_{};
  RegionPixels pixels_{};
  SeekPoints points_{};
  std::array<CoefficientRows, EntropyDecoder::k_max_rows> rows_{};
  std::array<AlignedMemory, 3 * EntropyDecoder::k_max_rows> memory_{};
  std::size_t num_used_ = 0;
  bool seeks_ = false;
  std::uint32_t row_ = 0;
};

/// The same of planes: headers, the classes of all blocks, and the rows that the region needs.
class PlaneStage {
 public:
  void run(const Sample& sample, Part part) {
    header_.open(sample.planes, true);
    jpeg_.open(header_.is_verbatim() ? header_.verbatim() : header_.head());
    const auto frame = baseline_frame(jpeg_.info());
    if (part == Part::headers || header_.is_verbatim() || !frame) return;
    if (!pixels_.prepare(*frame, sample.region, widest_baseline_kernels())) return;
    decoder_.open(*frame);
    header_.classes(0, decoder_.num_blocks());
    if (part == Part::tables) return;
    CoefficientRows rows;
    for (std::uint32_t i = 0; i < frame->num_components; ++i) {
      const std::size_t across = pixels_.blocks_across(i);
      const std::size_t size = across * frame->components[i].blocks_down * k_block_size;
      rows[i] = {.coefficients = reinterpret_cast<std::int16_t*>(memory_[i].get(size * 2)), .blocks_across = across};
    }
    decoder_.store_in(rows, pixels_.mcus(), BlockOrder::pairs);
    for (std::uint32_t row = pixels_.first_mcu_row(); row < pixels_.end_mcu_row(); ++row) {
      decoder_.decode_row(header_.row(row), header_.after_row(row), header_.classes(row, decoder_.num_blocks()));
    }
  }

 private:
  PlanesHeader header_{};
  JpegDecoder jpeg_{};
  RegionPixels pixels_{};
  PlaneDecoder decoder_{};
  std::array<AlignedMemory, 3> memory_{};
};

/// One core's work on all samples, in two lanes.
class Stages {
 public:
  Stages(const std::vector<Sample>& samples, int file, const Regime& regime)
      : samples_(samples),
        file_(file),
        regime_(regime),
        pipelines_{bale::SamplePipeline(regime.transform, bale::k_default_max_pixels),
                   bale::SamplePipeline(regime.transform, bale::k_default_max_pixels)} {}

  void read() {
    for (const Sample& sample : samples_) {
      bytes_.resize(regime_.stored(sample).size());
      const off_t offset = regime_.has_planes() ? sample.planes_offset : sample.offset;
      if (::pread(file_, bytes_.data(), bytes_.size(), offset) < 0) throw bale::Error(bale::ErrorCode::io, "pread");
    }
  }
  void checksum() {
    for (const Sample& sample : samples_) {
      sum_ += regime_.has_planes() ? bale::check_planes(sample.planes) : bale::crc32c(sample.jpeg);
    }
  }
  void entropy(Part part) {
    if (regime_.has_planes()) {
      for (const Sample& sample : samples_) planes_.run(sample, part);
      return;
    }
    std::array<bool, 2> has_rows{};
    bale::test::in_lanes(
        samples_.size(),
        [&](std::size_t lane, std::size_t i) {
          has_rows[lane] = huffman_[lane].begin(samples_[i], regime_.seeks(), part);
        },
        [&] {
          if (!has_rows[0] || !has_rows[1]) return std::array<bool, 2>{!has_rows[0], !has_rows[1]};
          return HuffmanStage::go_on_beside(huffman_[0], huffman_[1]);
        },
        [&](std::size_t lane, std::size_t) {
          if (has_rows[lane]) huffman_[lane].finish();
        });
  }
  void decode() {
    std::array<bale::ImageDecoder::Upcoming, 2> upcoming;
    bale::test::in_lanes(
        samples_.size(),
        [&](std::size_t lane, std::size_t i) {
          decoders_[lane].open(regime_.stored(samples_[i]), bale::k_default_max_pixels, bale::WholeCheck::none);
          if (regime_.seeks()) decoders_[lane].use_seek_points(kept(samples_[i]));
          upcoming[lane] = {&decoders_[lane], samples_[i].region};
        },
        [&] { return bale::ImageDecoder::decode_ahead(upcoming[0], upcoming[1]); },
        [&](std::size_t lane, std::size_t i) { decoders_[lane].read(samples_[i].region); });
  }
  void make() {
    bale::test::in_lanes(
        samples_.size(),
        [&](std::size_t lane, std::size_t i) {
          pipelines_[lane].begin(regime_.stored(samples_[i]), {.seed = 1, .sample = i},
                                 regime_.seeks() ? kept(samples_[i]) : bale::KeptSeekPoints{}, bale::WholeCheck::none);
        },
        [&] { return bale::SamplePipeline::decode_ahead(pipelines_[0], pipelines_[1]); },
        [&](std::size_t lane, std::size_t) { pipelines_[lane].finish(out_); });
  }

 private:
  static bale::KeptSeekPoints kept(const Sample& sample) {
    return {.record = sample.record, .image_crc32c = sample.crc};
  }

  const std::vector<Sample>& samples_;
  int file_;
  const Regime& regime_;
  std::vector<std::byte> bytes_{};
  std::uint32_t sum_ = 0;
  std::array<HuffmanStage, 2> huffman_{};
  PlaneStage planes_{};
  std::array<bale::ImageDecoder, 2> decoders_{};
  std::array<bale::SamplePipeline, 2> pipelines_;
  std::vector<std::byte> out_ = std::vector<std::byte>(k_output_bytes);
};

std::vector<Sample> load(const std::string& folder, int file) {
  std::vector<Sample> samples;
  off_t offset = 0;
  for (const std::string& path : bale::test::files_in(folder)) {
    Sample sample{.jpeg = bale::read_file(path)};
    const bale::ImageHeader header = bale::probe_image(sample.jpeg);
    if (header.kind != bale::ImageKind::jpeg || header.width == 0 || header.height == 0) continue;
    sample.width = header.width;
    sample.height = header.height;
    sample.crc = bale::crc32c(sample.jpeg);
    sample.record = bale::make_seek_points(sample.jpeg);
    bale::make_planes(sample.jpeg, sample.planes);
    sample.offset = offset;
    offset += ::pwrite(file, sample.jpeg.data(), sample.jpeg.size(), offset);
    sample.planes_offset = offset;
    offset += ::pwrite(file, sample.planes.data(), sample.planes.size(), offset);
    samples.push_back(std::move(sample));
  }
  if (samples.size() % 2 != 0) samples.pop_back();
  if (samples.empty()) throw bale::Error(bale::ErrorCode::not_found, "fewer than two JPEGs", {.path = folder});
  return samples;
}

/// Entropy-coded bytes of the rows that are decoded; 0 if the image has no seek points that say where rows begin.
std::size_t scan_bytes(const Sample& sample, bool seeks) {
  JpegDecoder jpeg;
  jpeg.open(sample.jpeg);
  const auto frame = baseline_frame(jpeg.info());
  RegionPixels pixels;
  SeekPoints points;
  if (!frame || !pixels.prepare(*frame, sample.region, baseline_kernels()) ||
      !points.read({.record = sample.record, .image_crc32c = sample.crc}, sample.jpeg.size(), *frame)) {
    return 0;
  }
  const auto at = [&](std::uint32_t row) {
    return points
               .points[std::min<std::size_t>((row + points.rows_between - 1) / points.rows_between,
                                             points.points.size() - 1)]
               .position /
           8;
  };
  return at(pixels.end_mcu_row()) - (seeks ? at(pixels.first_mcu_row()) : 0);
}

void measure(std::vector<Sample>& samples, int file, const Regime& regime, std::size_t rounds, double cycles,
             double bandwidth) {
  bale::transform_detail::View view(regime.transform);
  double file_bytes = 0;
  double coded_bytes = 0;
  double pixels = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    view.draw({.seed = 1, .sample = i}, samples[i].width, samples[i].height);
    samples[i].region = view.needed();
    file_bytes += static_cast<double>(regime.stored(samples[i]).size());
    coded_bytes += static_cast<double>(scan_bytes(samples[i], regime.form != Form::file));
    pixels += static_cast<double>(samples[i].region.width) * samples[i].region.height;
  }
  const double count = static_cast<double>(samples.size());
  Stages stages(samples, file, regime);
  const std::array<std::function<void()>, 7> work{[&] { stages.read(); },
                                                  [&] { stages.checksum(); },
                                                  [&] { stages.entropy(Part::headers); },
                                                  [&] { stages.entropy(Part::tables); },
                                                  [&] { stages.entropy(Part::rows); },
                                                  [&] { stages.decode(); },
                                                  [&] { stages.make(); }};
  std::array<std::vector<double>, 7> seconds;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < work.size(); ++i) {
      const double begin = cpu_seconds();
      work[i]();
      seconds[i].push_back((cpu_seconds() - begin) / count);
    }
  }
  std::array<double, 7> took{};
  for (std::size_t i = 0; i < took.size(); ++i) took[i] = median(seconds[i]);
  const double whole = took[0] + took[1] + took[6];
  fmt::print("\n{}: {:.0f} images per CPU second\n\n", regime.name, 1 / whole);
  fmt::print("| stage | us per image | share | cycles per | |\n|---|---|---|---|---|\n");
  const auto row = [&](const char* name, double time, const char* unit, double amount) {
    fmt::print("| {} | {:.1f} | {:.1f} % | {} | {} |\n", name, time * 1e6, 100 * time / whole,
               amount > 0 && cycles > 0 ? fmt::format("{:.2f}", time * cycles * count / amount) : "-", unit);
  };
  row("reading from the page cache", took[0], "byte of the file", file_bytes);
  row("checksum", took[1], "byte of the file", file_bytes);
  row("headers", took[2], "", 0);
  row(regime.has_planes() ? "classes" : "Huffman tables, byte stuffing", took[3] - took[2], "", 0);
  row(regime.has_planes() ? "planes" : "Huffman codes", took[4] - took[3], "byte of entropy-coded data", coded_bytes);
  row("inverse DCT, chroma, RGB", took[5] - took[4], "pixel decoded", pixels);
  row("draws, resize, flip", took[6] - took[5], "pixel decoded", pixels);
  // The copy from the page cache, the checksum, the copy without stuffing, pixels between the stages, the output.
  const double moved = (3 * file_bytes + 2 * coded_bytes + 6 * pixels) / count + k_output_bytes;
  fmt::print(
      "\nper image: {:.0f} bytes of the file, {:.0f} of entropy-coded data, {:.0f} pixels decoded; {:.2f} MB read and "
      "written, which memory alone does in {:.1f} us\n",
      file_bytes / count, coded_bytes / count, pixels / count, moved / 1e6, moved / bandwidth * 1e6);
}

int run(const std::string& folder, std::size_t rounds) {
  const int file = ::memfd_create("samples", MFD_CLOEXEC);
  if (file < 0) throw bale::Error(bale::ErrorCode::io, "memfd_create failed");
  std::vector<Sample> samples = load(folder, file);
  const double cycles = counter_rate();
  const double bandwidth = memory_rate();
  fmt::print("{} JPEGs, {}; {:.2f} GHz by the time stamp counter, memory {:.1f} GB/s (bytes read and written)\n",
             samples.size(), bale::simd_target(), cycles / 1e9, bandwidth / 1e9);
  const bale::Transform train = bale::train_transform();
  const bale::Transform evaluation = bale::val_transform(224, 256);
  for (const Regime& regime :
       {Regime{"crop + flip", train, Form::file}, Regime{"crop + flip, seek points", train, Form::with_seek_points},
        Regime{"crop + flip, planes", train, Form::planes}, Regime{"evaluation", evaluation, Form::file},
        Regime{"evaluation, seek points", evaluation, Form::with_seek_points},
        Regime{"evaluation, planes", evaluation, Form::planes}}) {
    measure(samples, file, regime, rounds, cycles, bandwidth);
  }
  ::close(file);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bale::test::measuring_main(argc, argv, "bale_decode_stages", 9, run); }

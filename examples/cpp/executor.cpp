// Batches by threads of the program's own instead of a Loader's workers: what is decoded depends on seed, epoch and
// sample only, so the bytes are the Loader's, whoever makes them. The program compares both.
#include <algorithm>
#include <iostream>
#include <thread>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/loader/loader.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace {

constexpr std::uint64_t k_seed = 1;
constexpr std::uint64_t k_batch_size = 8;
constexpr unsigned k_threads = 2;

class Executor {
 public:
  explicit Executor(const bale::Dataset& dataset)
      : dataset_(dataset),
        order_(bale::Selection::all(dataset.size()), bale::Shuffle::full(), k_seed),
        plan_(order_.size(), 0, {.batch_size = k_batch_size, .tail = bale::Tail::drop}) {}

  std::uint64_t num_batches() const { return plan_.num_batches(); }

  std::vector<std::byte> batch(std::uint64_t epoch, std::uint64_t number) const {
    std::vector<std::byte> pixels(plan_.num_rows(number) * transform_.image_bytes());
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < k_threads; ++t) threads.emplace_back([&, t] { fill(epoch, number, t, pixels); });
    for (std::thread& thread : threads) thread.join();
    return pixels;
  }

 private:
  /// Every k_threads-th row. A Dataset is shared; a pipeline and a Scratch are one thread's.
  void fill(std::uint64_t epoch, std::uint64_t number, unsigned first, bale::MutableBytes pixels) const {
    bale::SamplePipeline pipeline(transform_, bale::k_default_max_pixels);
    bale::Scratch scratch;
    for (std::uint64_t row = first; row < plan_.num_rows(number); row += k_threads) {
      const bale::Pick pick = order_.at(epoch, plan_.row(number, row).position);
      const bale::SampleView sample = dataset_.read(pick.sample, scratch);
      pipeline.run(sample.find_image()->bytes,
                   {.seed = k_seed, .epoch = epoch, .sample = pick.sample, .copy = pick.copy},
                   pixels.subspan(row * transform_.image_bytes(), transform_.image_bytes()));
    }
  }

  const bale::Dataset& dataset_;
  bale::Transform transform_ = bale::train_transform(64);
  bale::EpochOrder order_;
  bale::RankPlan plan_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto dataset = bale::Dataset::open(argv[1]);
    const Executor executor(dataset);
    bale::Loader loader{argv[1],
                        {.batch_size = k_batch_size,
                         .workers = 2,
                         .worker_mode = bale::WorkerMode::threads,  // bale-worker is not needed
                         .seed = k_seed,
                         .tail = bale::Tail::drop,
                         .transform = bale::train_transform(64)}};
    std::uint64_t num_equal = 0;
    while (const auto batch = loader.next()) {
      const bale::Bytes expected = batch->pixels();
      const std::vector<std::byte> made = executor.batch(batch->epoch(), batch->index());
      num_equal += std::equal(made.begin(), made.end(), expected.begin(), expected.end()) ? 1 : 0;
    }
    std::cout << num_equal << " of " << executor.num_batches() << " batches are equal\n";
    return num_equal == executor.num_batches() ? 0 : 1;
  } catch (const bale::Error& error) {  // on this thread; a thread of one's own has to catch what it throws
    std::cerr << error.what() << '\n';
    return 1;
  }
}

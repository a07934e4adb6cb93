// Any order, any thread, and by file offset.
#include <atomic>
#include <numeric>
#include <thread>

#include "bale/tests/conformance/suite.hpp"

using namespace bale;
using namespace bale::test;

TEST_CASE("samples may be read in any order") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = plain_samples_for(subject, 211, 3000);
    const Shard shard = subject.open("a", subject.pack("a", samples));
    Scratch scratch;
    for (std::size_t step = 0, i = 0; step < 3 * samples.size(); ++step, i = (i + 97) % samples.size()) {
      REQUIRE(difference(subject, samples[i], shard.read(i, scratch)).empty());
    }
  });
}

TEST_CASE("four threads may read one shard at once") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = plain_samples_for(subject, 200, 3000);
    const Shard shard = subject.open("a", subject.pack("a", samples));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Scratch scratch;
        try {
          for (std::size_t step = 0; step < 2 * samples.size(); ++step) {
            const std::size_t i = (step * (2 * t + 3) + t * 50) % samples.size();
            if (!difference(subject, samples[i], shard.read(i, scratch)).empty()) ++wrong;
          }
        } catch (const std::exception&) {
          ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  });
}

TEST_CASE("located fields lie in the file where locate says") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = mixed_samples_for(subject);
    const Shard shard = subject.open("a", subject.pack("a", samples));
    const std::optional<std::string> text = subject.file_text("a");
    const ShardIndex& index = shard.index();
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
        const Extent extent = index.extent(i, f);
        if (!extent.present()) continue;
        const auto range = shard.payload().locate(i, f, extent);
        if (!range) continue;
        INFO("sample " << i << ", field " << index.fields()[f].name);
        REQUIRE(text);
        REQUIRE(range->offset <= text->size());
        REQUIRE(range->length <= text->size() - range->offset);
        shard.payload().will_need(*range);
        // As long as the field itself: nothing was done to it on the way into the file.
        if (!subject.keeps_bytes() || range->length != extent.length) continue;
        std::string stored(extent.length, '\0');
        shard.payload().read(i, f, extent, {reinterpret_cast<std::byte*>(stored.data()), stored.size()});
        REQUIRE(text->compare(range->offset, range->length, stored) == 0);
        if (index.fields()[f].codec == Codec::none) REQUIRE(stored == samples[i].find(index.fields()[f].name)->bytes);
      }
      std::uint64_t end = 0;
      for (const FileRange& range : shard.locate(i)) {
        REQUIRE((end == 0 || range.offset > end));  // sorted, and merged where they touch
        end = range.offset + range.length;
      }
    }
  });
}

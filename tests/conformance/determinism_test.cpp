// The same samples give the same bytes: again, and next to another writer.
#include <thread>

#include "bale/tests/conformance/suite.hpp"
#include "bale/tests/support/tier.hpp"

using namespace bale;
using namespace bale::test;

TEST_CASE("a shard written twice is the same file") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = mixed_samples_for(subject);
    const ShardIndex first = subject.pack("a", samples);
    // Other files of this format in between, so that memory used again is not as it was.
    subject.pack("between", plain_samples_for(subject, 50, 40'000));
    const ShardIndex second = subject.pack("b", samples);
    CHECK(subject.file_text("a") == subject.file_text("b"));
    CHECK(as_text(first.bytes()) == as_text(second.bytes()));
  });
}

TEST_CASE("two writers at once write what each would write alone") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> left = plain_samples_for(subject, by_tier<std::size_t>(800, 800, 60), 9000);
    const std::vector<OwnedSample> right = mixed_samples_for(subject);
    subject.pack("left", left);
    subject.pack("right", right);
    std::thread other([&] { subject.pack("right2", right); });
    subject.pack("left2", left);
    other.join();
    CHECK(subject.file_text("left") == subject.file_text("left2"));
    CHECK(subject.file_text("right") == subject.file_text("right2"));
    check_shard(subject, subject.open("left2", subject.pack("left2", left)), left);
  });
}

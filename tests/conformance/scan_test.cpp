// A container tells by itself what its index tells.
#include "bale/tests/conformance/suite.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// Packs, scans, and compares the two indexes.
void check_scan(const Subject& subject, const std::string& stem, const std::vector<OwnedSample>& samples) {
  const ShardIndex written = subject.pack(stem, samples);
  const ShardIndex scanned = subject.scan(stem);
  REQUIRE(scanned.size() == written.size());
  for (std::uint64_t i = 0; i < written.size(); ++i) {
    INFO("sample " << i);
    if (subject.layout().keeps_keys_in_file) REQUIRE(scanned.key(i) == written.key(i));
    REQUIRE(scanned.label(i) == written.label(i));
    for (std::uint32_t f = 0; f < written.fields().size(); ++f) {
      const Extent expected = written.extent(i, f);
      const Extent found = stored_extent(scanned, i, written.fields()[f].stored_name());
      INFO("field " << written.fields()[f].stored_name());
      REQUIRE(found.present() == expected.present());
      if (!found.present()) continue;
      REQUIRE(found.offset == expected.offset);
      REQUIRE(found.length == expected.length);
    }
  }
}

}  // namespace

TEST_CASE("a scan agrees with the writer's index") {
  for_each_layout([](const Subject& subject) {
    check_scan(subject, "mixed", mixed_samples_for(subject.layout()));
    check_scan(subject, "many", plain_samples_for(subject.layout(), 3000));
    check_scan(subject, "none", {});
  });
}

TEST_CASE("a scanned shard reads like one with its index") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = plain_samples_for(subject.layout(), 100, 5000);
    subject.pack("a", samples);
    const Shard shard = subject.open("a", subject.scan("a"));
    CHECK_FALSE(shard.index().has_checksums());
    if (subject.layout().keeps_keys_in_file) check_shard(subject, shard, samples);
  });
}

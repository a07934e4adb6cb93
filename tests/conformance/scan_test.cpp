// A container tells by itself what its index tells.
#include "bale/formats/base/error.hpp"
#include "bale/tests/conformance/suite.hpp"
#include "bale/tests/support/tier.hpp"

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
    check_scan(subject, "mixed", mixed_samples_for(subject));
    check_scan(subject, "many", plain_samples_for(subject, by_tier<std::size_t>(3000, 3000, 500)));
    check_scan(subject, "none", {});
  });
}

TEST_CASE("a scan finds a field of each name that the format's rule permits, and no writer takes another") {
  for_each_layout([](const Subject& subject) {
    if (!subject.layout().keeps_bytes || subject.is_in_memory()) return;
    using std::string_literals::operator""s;
    int stem = 0;
    for (const std::string& name :
         {""s, "."s, ".."s, "x.zst"s, ".zst"s, "jpg.bjp"s, "x.bjp"s, "A"s, "a/b"s, "a\0b"s, "\xff"s, "ü"s, "__key__"s,
          "__primary__"s, std::string(255, 'n'), std::string(500, 'n'), std::string(4001, 'n')}) {
      INFO("field " << printable(name));
      OwnedSample sample = make_sample_for(subject, 1, 100);
      sample.fields.push_back({name, "content"});
      const FieldRule& rule = subject.format().field_rule;
      const bool permitted = why_field_is_refused(rule, {.name = name, .codec = least_codec(rule, name)}).empty();
      if (permitted) {
        check_scan(subject, std::to_string(++stem), {sample});
      } else {
        CHECK_THROWS_AS(subject.pack(std::to_string(++stem), {sample}), Error);
      }
    }
  });
}

TEST_CASE("a scanned shard reads like one with its index") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = plain_samples_for(subject, 100, 5000);
    subject.pack("a", samples);
    const Shard shard = subject.open("a", subject.scan("a"));
    CHECK_FALSE(shard.index().has_checksums());
    if (subject.layout().keeps_keys_in_file) check_shard(subject, shard, samples);
  });
}

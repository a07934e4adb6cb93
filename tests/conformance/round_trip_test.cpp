// What goes in comes out.
#include "bale/formats/registry/registry.hpp"
#include "bale/tests/conformance/suite.hpp"

using namespace bale;
using namespace bale::test;

TEST_CASE("mixed samples come back as they were") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = mixed_samples_for(subject);
    const Shard shard = subject.open("a", subject.pack("a", samples));
    check_shard(subject, shard, samples);
  });
}

TEST_CASE("shards of no sample, one, and thousands") {
  for_each_layout([](const Subject& subject) {
    for (const std::size_t count : {0, 1, 3000}) {
      INFO(count << " samples");
      const std::vector<OwnedSample> samples = plain_samples_for(subject, count);
      const std::string stem = std::to_string(count);
      check_shard(subject, subject.open(stem, subject.pack(stem, samples)), samples);
    }
  });
}

TEST_CASE("single fields and keys are found, others are said to be missing") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = mixed_samples_for(subject);
    const Shard shard = subject.open("a", subject.pack("a", samples));
    Scratch scratch;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      REQUIRE(shard.index().find(samples[i].key) == i);
      if (!subject.keeps_bytes()) continue;
      for (const char* name : {"jpg", "png", "cls", "json", "txt", "seg.png", "none"}) {
        const OwnedField* field = samples[i].find(name);
        if (field != nullptr) {
          REQUIRE(as_text(shard.read_field(i, name, scratch)) == field->bytes);
        } else {
          REQUIRE_THROWS_AS(shard.read_field(i, name, scratch), Error);
        }
      }
    }
    CHECK_FALSE(shard.index().find("not there"));
  });
}

TEST_CASE("a shard opens by its path with the index next to it") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = mixed_samples_for(subject);
    const ShardIndex index = subject.pack("a", samples);
    if (!subject.file_text("a")) return;  // nothing on disk to find
    publish_file(subject.index_file("a"), index.bytes());
    CHECK(&probe_format(subject.path("a")) == &subject.format());
    const Shard shard = open_shard(subject.path("a"));
    CHECK(&shard.format() == &subject.format());
    check_shard(subject, shard, samples);
  });
}

// A Source in memory. The bytes of a sample follow from its number. Tests can inject faults.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/writer/source/source.hpp"

namespace bale::test {

class FakeSource : public Source {
 public:
  explicit FakeSource(std::uint64_t size, std::int64_t num_classes = 4) : size_(size), num_classes_(num_classes) {
    for (std::int64_t c = 0; c < num_classes; ++c) classes_.push_back("class" + std::to_string(c));
  }

  /// Called before each read; may throw.
  std::function<void(std::uint64_t)> before_read = [](std::uint64_t) {};
  /// Key of a sample, for tests of duplicate keys.
  std::function<std::string(std::uint64_t)> key_of = [](std::uint64_t i) {
    return "class" + std::to_string(i % 4) + "/" + std::to_string(i);
  };

  std::uint64_t size() const override { return size_; }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::uint64_t i) const override { return static_cast<std::int64_t>(i) % num_classes_; }

  void describe(std::uint64_t i, SourceSample& out) const override {
    out.key = key_of(i);
    out.label = label(i);
    out.fields = {{0, image_bytes(i)}, {1, label_text(i).size()}, {2, 40}};
  }

  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    before_read(i);
    thread_local std::string key, text;
    key = key_of(i);
    text = label_text(i);
    const MutableBytes image = scratch.bytes(image_bytes(i));
    KeyedRandom random{7, i};
    for (std::byte& byte : image) byte = static_cast<std::byte>(random.next());
    static const std::string k_json = "{\"note\": \"the same in every sample....\"}";
    scratch.fields() = {{"jpg", image}, {"cls", as_bytes(text)}, {"json", as_bytes(k_json).first(40)}};
    return {.key = key, .label = label(i), .width = 10, .height = 20, .fields = scratch.fields()};
  }

  std::string origin(std::uint64_t i) const override { return "fake:" + std::to_string(i); }
  void will_need(std::uint64_t) const override {}
  void fingerprint(std::uint64_t i, std::string& out) const override { out += key_of(i) + "\n"; }
  const NoticeLog& notices() const override { return notices_; }

 private:
  static std::uint64_t image_bytes(std::uint64_t i) { return 1000 + (i * 37) % 500; }
  std::string label_text(std::uint64_t i) const { return std::to_string(label(i)); }

  std::uint64_t size_;
  std::int64_t num_classes_;
  std::vector<std::string> fields_{"jpg", "cls", "json"};
  std::vector<std::string> classes_;
  NoticeLog notices_;
};

}  // namespace bale::test

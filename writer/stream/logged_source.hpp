// A SampleLog as a Source, so that its shard is written by the code that packs folders.
//
// Threads: as of a Source.
#pragma once

#include <string>
#include <vector>

#include "bale/writer/source/source.hpp"
#include "bale/writer/stream/sample_log.hpp"

namespace bale {

/// Why the image of a sample cannot be packed; empty if it can. Its first field with an image's name is its image.
std::string why_image_is_refused(const SampleView& sample);

class LoggedSource : public Source {
 public:
  /// `fields` has every name of the log, the images first. `classes` must outlive this object.
  LoggedSource(const SampleLog& pending, std::vector<std::string> fields, const std::vector<std::string>& classes);

  std::uint64_t size() const override { return pending_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::uint64_t i) const override { return pending_.label(i); }
  void describe(std::uint64_t i, SourceSample& out) const override;
  SampleView read(std::uint64_t i, Scratch& scratch) const override;
  std::string origin(std::uint64_t i) const override;
  void will_need(std::uint64_t) const override {}
  void fingerprint(std::uint64_t, std::string&) const override {}  // its plan knows no samples
  const NoticeLog& notices() const override { return notices_; }

 private:
  const SampleLog& pending_;
  std::vector<std::string> fields_;
  std::vector<std::uint32_t> ids_;  // by name in the pending
  const std::vector<std::string>& classes_;
  NoticeLog notices_;
};

/// A sample of a Writer in messages: by its number, counted from 0, and its key.
std::string name_of_sample(std::uint64_t number, std::string_view key);

}  // namespace bale

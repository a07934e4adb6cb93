// FileSource: samples that are files. Folder, list and table sources fill in a FileListing. Sizes, keys and reading are
// done here.
//
// Threads: see Source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/writer/source/files/steady_file.hpp"
#include "bale/writer/source/rows/file_rows.hpp"
#include "bale/writer/source/rows/pair_rules.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

// The samples that reading has shown something of, for Source::read_notices(): their number, and the first in the order
// of the source, whichever thread read it when.
//
// Threads: all functions may be called by many threads at once.

class RemarkedSamples {
 public:
  /// Adds the sample, unless it was added before. `place` is the container that a warning of it would name.
  void add(std::uint64_t sample, const std::string& place, const std::string& what) {
    const std::scoped_lock lock(mutex_);
    samples_.insert(sample);
    if (*samples_.begin() != sample) return;
    place_ = place;
    first_ = what;
  }

  /// Adds the warning `say(number of samples, what of the first)`, unless there are none.
  void report(NoticeLog& log, const std::function<std::string(std::uint64_t, const std::string&)>& say) const {
    const std::scoped_lock lock(mutex_);
    if (samples_.empty()) return;
    NoticeLog remark;
    remark.warn(say(samples_.size(), first_));
    log.merge(remark, place_);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> samples_;
  std::string place_;  // of the first
  std::string first_;
};

struct FileListing {
  FileRows rows;
  std::vector<std::string> image_fields;      // indexed by FileRow::field
  std::vector<std::string> companion_fields;  // of the companion files, in order
  std::vector<bool> companion_is_distant;     // its place comes from a pattern (PairPath)
  std::vector<std::string> classes;
  LabelOrigin label_origin{.reading = LabelReading::names};  // if any sample has a label
  NoticeLog notices;
  std::vector<std::string> places;  // Source::places()
  std::vector<SourceLoss> losses;
  unsigned jobs = 1;    // threads that examine the files
  bool strict = false;  // SourceOptions::strict

  /// Position of the extension's field in `image_fields`. Adds it if it is new.
  std::uint16_t image_field(std::string_view extension);
  /// Sets `companion_fields` and `companion_is_distant`.
  void name_companions(const PairRules& pair);
};

/// Number of threads that list and examine files.
unsigned list_jobs(const SourceOptions& options);

class FileSource : public Source {
 public:
  /// Reads size and time of every file, with several threads. `extra_fields` are those whose bytes do not come from a
  /// file of the sample. Throws `invalid_argument` if two fields would have the
  /// same name. Duplicate keys are not checked here: the planner refuses them for every kind of source.
  explicit FileSource(FileListing listing, const std::vector<std::string>& extra_fields = {});

  static constexpr std::size_t k_max_files = 16;  // per sample

  /// What a saved source knows of the source that was listed.
  struct Saved {
    bool has_extra = false;   // one, `json`
    bool has_labels = false;  // any of its samples
  };

  std::uint64_t size() const override { return listing_.rows.samples().size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return listing_.classes; }
  KeyForm key_form() const override {
    return listing_.rows.keeps_extensions() ? KeyForm::with_extensions : KeyForm::plain;
  }
  LabelOrigin label_origin() const override { return has_labels_ ? listing_.label_origin : LabelOrigin(); }
  std::vector<std::string> places() const override { return listing_.places; }
  std::int64_t label(std::uint64_t i) const override { return row(i).label; }
  void describe(std::uint64_t i, SourceSample& out) const override;
  SampleView read(std::uint64_t i, Scratch& scratch) const override;
  std::string origin(std::uint64_t i) const override { return listing_.rows.path(row(i)); }
  std::vector<SourceFile> files(std::uint64_t i) const override;
  void will_need(std::uint64_t i) const override;
  void fingerprint(std::uint64_t i, std::string& out) const override;
  std::string save_head() const override;
  void save(std::uint64_t i, std::string& out) const override;
  const NoticeLog& notices() const override { return listing_.notices; }
  std::function<void(NoticeLog& log)> read_notices() const override;
  std::vector<SourceLoss> losses() const override { return listing_.losses; }

 protected:
  bool is_strict() const { return listing_.strict; }

  /// Rows that know size and time of their files from an earlier listing. Reading a file that has others throws
  /// `changed`.
  FileSource(FileListing listing, Saved saved);

  /// Expected size of extra field `which` of sample `i`.
  virtual std::uint64_t extra_bytes(std::uint64_t, std::size_t) const { return 0; }
  /// Appends the bytes of extra field `which` of sample `i`. `image` has the files of the sample and the image's size.
  virtual void append_extra(std::uint64_t, std::size_t, const SampleView&, std::string&) const {}
  /// Appends what identifies the extra fields in a fingerprint. Does not throw for damaged content.
  virtual void append_extra_identity(std::uint64_t, std::string&) const {}

 private:
  const FileRow& row(std::uint64_t i) const { return listing_.rows.samples()[i]; }
  std::size_t first_extra() const { return fields_.size() - num_extra_; }
  std::size_t num_companions() const { return listing_.companion_fields.size(); }
  const FileRow* companion(std::uint64_t i, std::size_t which) const {
    return listing_.rows.companion(i, which, num_companions());
  }
  void name_fields(const std::vector<std::string>& extra_fields);
  void examine_files();
  bool read_files(std::uint64_t i, Scratch& scratch) const;
  void compare_with_listing(std::uint64_t i, const FileRow& row, const SteadyFile& file, const std::string& path) const;
  SteadyFile open_file(std::uint64_t i, std::size_t n, const FileRow* row, std::string& path) const;
  [[noreturn]] void refuse_image(std::uint64_t i, Bytes bytes) const;

  FileListing listing_;
  std::vector<std::string> fields_;
  std::uint32_t label_field_ = 0;
  std::size_t num_extra_ = 0;  // the last fields
  bool has_labels_;
  bool is_saved_ = false;
  std::shared_ptr<RemarkedSamples> changed_ = std::make_shared<RemarkedSamples>();  // after they were listed
};

}  // namespace bale

// Some of the samples of a source, as a source.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/dataset/class_merge.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// The samples `chosen` of `source`, in this order, with all of its classes, so that labels stay the same. `losses` are
/// added to those of `source`.
std::unique_ptr<Source> choose_samples(std::shared_ptr<const Source> source, std::vector<std::uint64_t> chosen,
                                       std::vector<SourceLoss> losses = {});

/// The same samples, whose labels are numbers of `classes` then. Errors of `labels` are of the sample.
std::unique_ptr<Source> renumber_classes(std::shared_ptr<const Source> source, std::vector<std::string> classes,
                                         LabelMap labels);

/// Options that a source does not use. Each source declares those that it does.
/// Adds a notice for each given option of `options` that is none of `used` (names of members). `place` is the path of
/// the source, and `why` follows "has no effect: ", such as "this is a list of files". Of `include`, `exclude` and
/// `kind`, which every source uses, nothing is said.
void note_unused_options(const SourceOptions& options, std::initializer_list<std::string_view> used,
                         std::string_view why, std::string_view place, NoticeLog& notices);

/// Samples of a source that have the key of an earlier one, such as x.png next to x.jpg.
/// Throws `invalid_argument`, which names all such samples up to a hundred.
void require_unique_keys(const Source& source);

// A random subset of a source.

/// How many samples to draw: `count`, or `fraction` of them if it is not 0. Neither: all.
struct SampleDraw {
  std::uint64_t count = 0;
  double fraction = 0;     // 0..1
  bool per_class = false;  // of each class, and of the samples without a label
  std::uint64_t seed = 0;

  bool takes_all() const { return count == 0 && fraction == 0; }
};

/// Draws samples of `source`, which keep its order and classes. All samples if there are not more than `count`. A
/// fraction is rounded, and at least one sample is drawn of each group.
///
/// A sample is drawn by the hash of its key and the seed, so the draw does not depend on the order of the source or on
/// its format, and a smaller draw with the same seed is part of a larger one. Throws `invalid_argument` for a fraction
/// that is not within 0..1.
std::unique_ptr<Source> draw_samples(std::unique_ptr<Source> source, const SampleDraw& draw);

}  // namespace bale

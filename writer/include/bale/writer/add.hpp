// add(): adds the samples of a Source to a packed dataset, as a new version of it (bale/reader/version.hpp).
//
// Only new shards are written, with the next numbers; those that exist are not touched. Format, layout, name, edits of
// the images and files for other readers are those of the dataset. Classes keep their numbers; new ones get the next.
// The manifest is replaced last, by one rename, and is kept as "versions/ID.json": readers see the old version or the
// new one.
//
// As of pack(), the bytes do not depend on the number of jobs, and an interrupted run can be continued with
// DestinationMode::resume. DestinationMode::overwrite drops what such a run left, and begins again.
//
// Memory: of pack(), and 16 bytes per new sample. Threads: may be called by many threads at once, for different
// datasets. Another run at the same dataset is refused (`retryable`).
#pragma once

#include <memory>

#include "bale/writer/packer.hpp"

namespace bale {

/// The options of a run that adds to the dataset in PackOptions::destination: `asked` with format, layout, name, edits,
/// sidecars and seek points of the dataset, and the size of its images if it has pixels. Throws `not_found` if there is
/// no dataset, `unsupported` for shards whose names have their number (Layout::counted) and for
/// edits that cannot be repeated, and `invalid_argument` for splits.
PackOptions options_to_add(PackOptions asked);

struct AddRules {
  /// Leave out samples that the dataset has: the same key, label and bytes. Needs a layout that keeps bytes.
  bool skip_existing = false;
  /// Take samples whose key or image a version of the dataset removed (bale/writer/change.hpp).
  bool allow_removed = false;
};

/// Adds and returns when everything is durable. PackReport::added says which version it made; if there was nothing to
/// add, nothing was written. `options` are those of options_to_add(). Throws what pack() throws, and
///   `invalid_argument`  a key that the dataset has, unless it is left out; a sample that was removed, unless it is
///                       allowed; keys of another form, or fields with numbers of classes that would change
///   `retryable`         another version was published in the meantime
///   `damaged`           an index of the dataset is not what its manifest says
PackReport add(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules, Progress& progress);

/// The shards that add() would write.
PackPreview preview_add(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules,
                        Progress& progress);

}  // namespace bale

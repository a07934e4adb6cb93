// Edit: several changes of a packed dataset (change.hpp) that become one version of it, or none. The functions of that
// header are edits of one change.
//
//   bale::Edit edit("packed");
//   edit.remove({.keys = {"cat/00012"}}, progress);
//   edit.set_labels({.table = "corrections.csv"}, progress);
//   edit.set_field({.field = "clip.npy", .from = "clip.npy", .keys = "keys.txt"}, progress);
//   edit.add(open_source("week48", {}), options_to_add({.destination = "packed"}), {}, progress);
//   const std::string id = edit.publish("week 48", progress).version;
//
// The version has what the same changes one after the other would make. Each is checked when it is made: a sample that
// was removed is not there any more, and of two labels or values of a sample the later holds. A change that throws
// leaves the edit as it was. Nothing is written before publish(); an Edit that is destroyed without it has changed
// nothing. Files of values stay open or are read by publish(): do not change them before. So are the files of samples
// that are added.
//
// Samples that are added are those of add(): one source per edit. Removals before it count for it: a key that was
// removed may be added again (AddRules::allow_removed). All other changes are about the samples of the version before
// the edit, and labels may be classes that the new samples bring. A change that names a key of a new sample is refused.
//
// Memory: 16 bytes per sample that is changed; of tables also the values, of arrays and folders the keys of one at a
// time; of samples that are added what pack() needs, and 40 bytes each. Threads: an Edit is used by one thread at a
// time; any number may be open. Of two that began with the same version the first that publishes makes its version.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/add.hpp"
#include "bale/writer/change.hpp"

namespace bale {

class LayerChange;
struct Plan;

class Edit {
 public:
  /// Begins with the current version of the dataset in a directory or at an s3:// name. Throws `not_found` if there is
  /// none, and what opening it throws.
  explicit Edit(const std::string& directory);
  ~Edit();
  Edit(Edit&&) noexcept;
  Edit& operator=(Edit&&) noexcept;

  // Each throws what bale::remove(), set_labels() and set_field() throw before they write. `version` of a report is
  // empty.

  /// Throws `invalid_argument` for a condition after a label or field was set: conditions are about the version before.
  ChangeReport remove(const RemovalChoice& choice, Progress& progress);
  ChangeReport set_labels(const LabelChoice& choice, Progress& progress);
  ChangeReport set_field(const FieldChoice& choice, Progress& progress);

  /// Adds samples, as bale::add() does; publish() reads and packs them. `options` are those of options_to_add() for the
  /// directory of the edit, whose message is that of publish(). Throws what add() throws before it writes, and
  /// `invalid_argument` if the edit adds samples already, or for AddRules::skip_existing after a label or field was
  /// set: it compares with the version before. With DestinationMode::resume, publish() continues an interrupted edit
  /// that added the same; the other changes are those of this edit. DestinationMode::overwrite drops what that left.
  ChangeReport add(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules,
                   Progress& progress);

  /// Whether there is nothing to publish.
  bool is_empty() const;
  /// Publishes all changes as one version, and returns when it is durable; then the edit takes no more. If nothing is
  /// changed, nothing is written. `message` is what `bale log` says of it. Of the report, `verb` names all changes, and
  /// the numbers are those of all. Throws `retryable` if another run is at work, or published another version since the
  /// edit began: make the changes again in a new Edit; `exists` if an unfinished run is there; what reading the values
  /// throws; what add() throws. Then nothing is changed, but an edit that added samples may be continued, as pack().
  ChangeReport publish(const std::string& message, Progress& progress);

 private:
  struct Adding;

  LayerChange& change();
  /// Packs the new samples, with all other changes in their version.
  ChangeReport publish_added(const std::string& message, Progress& progress);
  std::optional<PackReport> report_if_decided(const Plan& plan, Progress& progress);

  std::unique_ptr<LayerChange> change_;
  std::unique_ptr<Adding> adding_;  // null: no samples are added
};

}  // namespace bale

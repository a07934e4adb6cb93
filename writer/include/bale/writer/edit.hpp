// Edit: several changes of a packed dataset (change.hpp) that become one version of it, or none. The functions of that
// header are edits of one change.
//
//   bale::Edit edit("packed");
//   edit.remove({.keys = {"cat/00012"}}, progress);
//   edit.set_labels({.table = "corrections.csv"}, progress);
//   edit.set_field({.field = "clip.npy", .from = "clip.npy", .keys = "keys.txt"}, progress);
//   const std::string id = edit.publish("week 48", progress).version;
//
// The version has what the same changes one after the other would make. Each is checked when it is made: a sample that
// was removed is not there any more, and of two labels or values of a sample the later holds. A change that throws
// leaves the edit as it was. Nothing is written before publish(); an Edit that is destroyed without it has changed
// nothing. Files of values stay open or are read by publish(): do not change them before.
//
// Memory: 16 bytes per sample that is changed; of tables also the values, of arrays and folders the keys of one at a
// time. Threads: an Edit is used by one thread at a time; any number may be open. Of two that began with the same
// version the first that publishes makes its version.
#pragma once

#include <memory>
#include <string>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/change.hpp"

namespace bale {

class LayerChange;

class Edit {
 public:
  /// Begins with the current version of the dataset in a directory. Throws `not_found` if there is none, `unsupported`
  /// for one in an object store, and what opening it throws.
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

  /// Whether there is nothing to publish.
  bool is_empty() const;
  /// Publishes all changes as one version, and returns when it is durable; then the edit takes no more. If nothing is
  /// changed, nothing is written. `message` is what `bale log` says of it. Of the report, `verb` names all changes, and
  /// the numbers are those of all. Throws `retryable` if another run is at work, or published another version since the
  /// edit began: make the changes again in a new Edit; `exists` if an unfinished run is there; what reading the values
  /// throws. Then nothing is changed.
  ChangeReport publish(const std::string& message, Progress& progress);

 private:
  LayerChange& change();

  std::unique_ptr<LayerChange> change_;
};

}  // namespace bale

#include "bale/writer/edit.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/writer/change/layer_change.hpp"

namespace bale {
namespace {

/// An edit of one change.
template <typename Make>
ChangeReport edit_once(const ChangeOptions& options, Progress& progress, const Make& make) {
  Edit edit(options.destination);
  ChangeReport report = make(edit);
  if (options.dry_run && !edit.is_empty()) return report;
  const ChangeReport published = edit.publish(options.message, progress);
  report.version = published.version;
  report.num_bytes = published.num_bytes;
  return report;
}

}  // namespace

Edit::Edit(const std::string& directory) : change_(std::make_unique<LayerChange>(directory)) {}
Edit::~Edit() = default;
Edit::Edit(Edit&&) noexcept = default;
Edit& Edit::operator=(Edit&&) noexcept = default;

bool Edit::is_empty() const { return !change_ || change_->is_empty(); }

ChangeReport Edit::publish(const std::string& message, Progress& progress) {
  ChangeReport report = change().publish(message, progress);
  change_.reset();
  return report;
}

LayerChange& Edit::change() {
  if (change_) return *change_;
  throw Error(ErrorCode::invalid_argument, "the edit was published", {.hint = "begin another one"});
}

ChangeReport remove(const RemovalChoice& choice, const ChangeOptions& options, Progress& progress) {
  return edit_once(options, progress, [&](Edit& edit) { return edit.remove(choice, progress); });
}

ChangeReport set_labels(const LabelChoice& choice, const ChangeOptions& options, Progress& progress) {
  return edit_once(options, progress, [&](Edit& edit) { return edit.set_labels(choice, progress); });
}

ChangeReport set_field(const FieldChoice& choice, const ChangeOptions& options, Progress& progress) {
  return edit_once(options, progress, [&](Edit& edit) { return edit.set_field(choice, progress); });
}

}  // namespace bale

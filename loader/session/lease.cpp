#include "bale/loader/session/lease.hpp"

#include <utility>

#include "bale/loader/session/session.hpp"

namespace bale::loader_detail {

Lease::Lease(std::shared_ptr<Session> session, std::uint32_t slot) : session_(std::move(session)), slot_(slot) {
  const LoaderOptions& options = session_->options();
  const Ring& ring = session_->ring();
  const BatchMixer& mixer = session_->mixer();
  index = ring.slot(slot).index;
  epoch = ring.slot(slot).epoch;
  size = ring.slot(slot).num_rows.load();
  transform = &options.transform;
  further_views = options.further_views;
  source_transforms = options.source_transforms;
  places = &session_->view_places();
  pixels = ring.pixels(slot);
  rows = &ring.row(slot, 0);
  row_bytes = sizeof(Row);
  labels = ring.labels(slot).first(size);
  partner_labels = mixer.partner_labels(slot, size);
  shares = mixer.shares(slot, size);
  partners = mixer.partners(slot, size);
  samples = ring.samples(slot).first(size);
  mask = ring.mask(slot).first(size);
  const FieldColumns& columns = session_->fields();
  for (std::size_t field = 0; field < columns.places().num_fields(); ++field) {
    fields.push_back(columns.column(ring, slot, static_cast<std::uint32_t>(size), field));
  }
}

Lease::~Lease() {
  if (session_->is_of_this_process()) session_->release(slot_);
}

}  // namespace bale::loader_detail

#include "bale/loader/loader.hpp"

#include "bale/loader/session/session.hpp"

namespace bale {

Loader::Loader(const std::string& spec, LoaderOptions options)
    : session_(std::make_shared<loader_detail::Session>(spec, std::move(options), std::nullopt)) {}
Loader::Loader(const std::string& spec, LoaderOptions options, Selection selection)
    : session_(std::make_shared<loader_detail::Session>(spec, std::move(options), std::move(selection))) {}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&& other) noexcept {
  if (session_) session_->end();
  session_ = std::move(other.session_);
  return *this;
}
Loader::~Loader() {
  if (session_) session_->end();
}

void Loader::start() { session_->start(); }
std::optional<Batch> Loader::next() { return session_->next({}); }
std::optional<Batch> Loader::next(const std::function<void()>& on_wait) { return session_->next(on_wait); }
bool Loader::ready() const { return session_->ready(); }
void Loader::set_epoch(std::uint64_t epoch) { session_->go_to(epoch, 0); }
std::uint64_t Loader::epoch() const { return session_->epoch(); }
std::uint64_t Loader::size() const { return session_->num_batches(); }
bool Loader::is_counted() const { return session_->is_counted(); }
LoaderState Loader::state() const { return session_->state(); }
void Loader::load_state(const LoaderState& state) { session_->load_state(state); }
const Dataset& Loader::dataset() const { return session_->dataset(); }
const LoaderOptions& Loader::options() const { return session_->options(); }
std::vector<BadSample> Loader::bad_samples() const { return session_->bad_samples(); }
LoaderCounters Loader::counters() const { return session_->counters(); }
std::vector<int> Loader::worker_pids() const { return session_->worker_pids(); }
MutableBytes Loader::pixel_memory() const { return session_->ring().all_pixels(); }

}  // namespace bale

#include "bale/loader/loader.hpp"

#include <new>

#include "bale/formats/base/error.hpp"
#include "bale/loader/session/session.hpp"
#include "bale/loader/transform/draw/default_floating_point.hpp"

namespace bale {
namespace {

using loader_detail::Session;

/// Whatever rounding the caller chose, and if there is no memory.
template <typename Call>
auto as_in_processes(const Call& call) {
  const DefaultFloatingPoint floating_point;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw out_of_memory_error();
  }
}

std::shared_ptr<Session> make_session(const std::string& spec, LoaderOptions options,
                                      std::optional<Selection> selection) {
  const auto leave_to_parent = [](Session* session) {
    if (session->is_of_this_process()) delete session;
  };
  return as_in_processes([&]() -> std::shared_ptr<Session> {
    return {new Session(spec, std::move(options), std::move(selection)), leave_to_parent};
  });
}

void end_session(const Held<std::shared_ptr<Session>>& session) {
  if (session && session->is_of_this_process()) session->end();
}

}  // namespace

Loader::Loader(const std::string& spec, LoaderOptions options)
    : session_(make_session(spec, std::move(options), std::nullopt)) {}
Loader::Loader(const std::string& spec, LoaderOptions options, Selection selection)
    : session_(make_session(spec, std::move(options), std::move(selection))) {}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&& other) noexcept {
  end_session(session_);
  session_ = std::move(other.session_);
  return *this;
}
Loader::~Loader() { end_session(session_); }

void Loader::start() {
  as_in_processes([this] { session_->start(); });
}
std::optional<Batch> Loader::next() { return next({}); }
std::optional<Batch> Loader::next(const std::function<void()>& on_wait) {
  return as_in_processes([&] { return session_->next(on_wait); });
}
void Loader::request_stop() { session_->request_stop(); }
bool Loader::ready() const { return session_->ready(); }
void Loader::set_epoch(std::uint64_t epoch) { session_->set_epoch(epoch); }
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

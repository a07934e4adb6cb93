#include "bale/loader/loader.hpp"

#include <charconv>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/loader/session/session.hpp"
#include "bale/loader/transform/draw/default_floating_point.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/version.hpp"

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

// A LoaderState as JSON, in the form of Python's loaders (python/bale/_loader/passes.py, Place).

namespace {

constexpr std::uint64_t k_form = 1;

// An epoch's number counts passes in its lower bits, from the epoch that was set, and in its upper bits how many of
// them were made since. Python's states name the two.
constexpr int k_epoch_bits = 40;
static_assert(counted_epoch(~std::uint64_t{0}) == (std::uint64_t{1} << k_epoch_bits) - 1);

LoaderState state_of(const Json& json) {
  if (json.count("version") != k_form) throw Error(ErrorCode::damaged, "it is of a later version of bale");
  if (json.contains("worker")) throw Error(ErrorCode::damaged, "it is of one worker of a DataLoader");
  const auto optional = [&](std::string_view name) { return json.contains(name) ? json.count(name) : 0; };
  LoaderState state{.position = json.count("position"),
                    .fingerprint = json.count("fingerprint"),
                    .nodes = {.count = optional("nodes"), .ranks = optional("ranks_per_node")},
                    .shards = optional("shards"),
                    .content = optional("content")};
  const bool is_end = state.position == 0 && optional("passes_before") != 0;  // epoch and pass are those that follow
  const std::uint64_t pass = optional(is_end ? "passes_before" : "pass");
  const std::uint64_t epoch = json.count("epoch") - (is_end ? 1 : 0) + pass;
  if (epoch != counted_epoch(epoch) || pass >> (63 - k_epoch_bits) != 0) {
    throw Error(ErrorCode::damaged, "its epoch is too large");
  }
  state.epoch = epoch | pass << k_epoch_bits;
  const std::string dataset = json.text_or_empty("dataset");
  if (!dataset.empty()) {
    const auto [end, error] = std::from_chars(dataset.data(), dataset.data() + dataset.size(), state.dataset, 16);
    if (error != std::errc() || end != dataset.data() + dataset.size()) {
      throw Error(ErrorCode::damaged, "its \"dataset\" is not a version");
    }
  }
  return state;
}

}  // namespace

std::string LoaderState::to_json() const {
  const std::uint64_t pass = epoch >> k_epoch_bits;
  Json json{{"version", k_form}, {"epoch", counted_epoch(epoch) - pass}, {"position", position}};
  if (pass != 0) json["pass"] = pass;
  json["fingerprint"] = fingerprint;
  if (dataset != 0) json["dataset"] = version_id(dataset);
  if (nodes.count != 0) {
    json["nodes"] = nodes.count;
    json["ranks_per_node"] = nodes.ranks;
  }
  if (shards != 0) {
    json["shards"] = shards;
    json["content"] = content;
  }
  return json.dump();
}

LoaderState LoaderState::from_json(std::string_view json) {
  try {
    return state_of(parse_json(json));
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, fmt::format("this is not a state of a Loader: {}", error.message()),
                {.hint = "give what LoaderState::to_json() or json.dumps(loader.state_dict()) returned"});
  }
}

}  // namespace bale

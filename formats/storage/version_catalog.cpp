#include "bale/formats/storage/version_catalog.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"
#include "bale/formats/storage/http/retry.hpp"
#include "bale/formats/storage/ranges/unsized_body.hpp"

namespace bale {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t k_head_bytes = 16 << 10;
constexpr std::uint64_t k_read_whole_bytes = 1 << 20;
constexpr std::uint64_t k_whole_bytes = 16 << 20;
constexpr std::uint64_t k_most_small_bytes = std::uint64_t{1} << 30;  // of an index or a manifest
constexpr std::uint64_t k_max_record_bytes = 64 << 10;
constexpr std::time_t k_recent_s = 60;
constexpr std::size_t k_max_missing = 65536;
constexpr std::string_view k_missing_suffix = ".none";
constexpr long k_not_modified = 304;
constexpr long k_bad_range = 416;

/// What If-None-Match takes, which compares weakly (RFC 9110, 13.1.2); empty if there is nothing.
std::string validator_of(const FileVersion& version) {
  return version.strong_etag().empty() && !version.etag.starts_with("W/") ? std::string() : version.etag;
}

std::string_view path_of(const RemoteUrl& location) {
  return std::string_view(location.name()).substr(0, begin_of_query(location.name()));
}

/// Seek points, by their present and their former suffix.
bool is_hint(const RemoteUrl& location) {
  return path_of(location).ends_with(".bseek") || path_of(location).ends_with(".bentry");
}

/// How much is asked for of a file of which nothing is known. Indexes and manifests are read as a whole.
std::uint64_t head_bytes_of(const RemoteUrl& location) {
  const std::string_view name = path_of(location);
  return name.ends_with(".bidx") || name.ends_with(".json") ? k_read_whole_bytes : k_head_bytes;
}

/// Indexes, manifests and seek points are looked for by names that nobody gave.
bool may_be_missing(const RemoteUrl& location) {
  return is_hint(location) || head_bytes_of(location) == k_read_whole_bytes;
}

/// Whether the server has no such file and says so in a page, with a status of success.
bool is_page_instead(const RemoteUrl& location, const HttpResponse& response) {
  return may_be_missing(location) && begins_with_ignoring_case(response.header("content-type"), "text/html") &&
         stripped(as_text(response.body)).starts_with('<');
}

/// How much of the body is kept: all of a file that the server sends in any case, if it is not large.
std::size_t kept_bytes(const HttpResponse& head, std::size_t head_bytes, bool keeps_whole) {
  const bool is_whole = keeps_whole && head.status == 200 && !is_part(head);
  const auto version = version_of(head);
  const bool is_small = version ? version->size <= k_whole_bytes : has_marked_end(head);
  return is_whole && is_small ? k_whole_bytes : head_bytes;
}

/// One try. Returns the response with the first bytes of its body; with its length, if all of it came. `body`: gets all
/// of a body without a length that has more than k_whole_bytes; null without a cache.
HttpResult ask_once(const RemoteUrl& location, const std::string& if_none_match, std::size_t head_bytes,
                    const Retry& retry, UnsizedBody* body) {
  const bool keeps_whole = body != nullptr;
  HttpRequest request = location.get({.range = FileRange{0, head_bytes}, .if_none_match = if_none_match});
  retry.set_limits(request);
  if (keeps_whole) request.total_timeout = {};  // is_late() has the limit
  request.fresh_connection = retry.num_failures() > 0;
  request.urgent = true;
  HttpResponse response;
  std::size_t most = 0;
  request.on_body = [&](const HttpResponse& head, Bytes part) {
    if (response.status == 0) {
      response = {.status = head.status, .headers = head.headers};
      most = kept_bytes(head, head_bytes, keeps_whole);
    }
    const std::size_t room = most - response.body.size();
    const Bytes kept = part.first(std::min(part.size(), room));
    response.body.insert(response.body.end(), kept.begin(), kept.end());
    if (part.size() <= room) return true;
    // A server that ignores ranges sends more.
    if (!keeps_whole || most != k_whole_bytes || !has_marked_end(head)) return false;
    if (body->size() == 0) body->append(response.body);
    return body->append(part.subspan(kept.size()));
  };
  // A body without a length may take as long as it comes at a KB per second.
  const auto is_late = [&] { return Clock::now() > retry.end() + std::chrono::milliseconds(body->size()); };
  HttpResult result = keeps_whole ? HttpClient::instance().carry_out(std::move(request), is_late)
                                  : HttpClient::instance().carry_out(std::move(request));
  if (keeps_whole) body->require_end(location);
  const bool is_unsized = keeps_whole && body->size() > 0;
  const bool is_cut = response.status == 200 && response.body.size() == most && !is_unsized;
  if (std::holds_alternative<Error>(result) && !is_cut) return result;
  if (auto* const got = std::get_if<HttpResponse>(&result); got != nullptr && response.status == 0) return result;
  if (!is_cut && has_marked_end(response)) {
    response.headers["content-length"] = fmt::format("{}", is_unsized ? body->size() : response.body.size());
  }
  return response;
}

std::string record_text(const Json& record) { return record.dump({.sorted = true, .replaces = true}); }

/// Of a record without its member "check".
std::uint32_t check_of(const Json& record) { return crc32c(as_bytes(record_text(record))); }

}  // namespace

VersionCatalog::VersionCatalog(std::shared_ptr<CacheDirectory> cache)
    : cache_(std::move(cache)), since_(std::time(nullptr)) {}

std::optional<VersionCatalog::KnownVersion> VersionCatalog::recorded(const RemoteUrl& location) {
  if (!cache_) return std::nullopt;
  const std::string path = cache_->path_of(location.identity(), ".url");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  try {
    Json json = parse_json(as_text(read_file(path, k_max_record_bytes)));
    const std::uint64_t check = json.count("check");
    json.erase("check");
    if (check != check_of(json)) return std::nullopt;
    FileVersion version{.etag = json.text("etag"),
                        .instance = json.text("instance"),
                        .size = json.count("size"),
                        .has_ranges = json.count("ranges") != 0};
    if (json.text("content") != CacheDirectory::entry_of(content_identity(location, version))) {
      return std::nullopt;  // a record of another file
    }
    const auto asker = static_cast<std::uint32_t>(json.count("asker"));
    KnownVersion known{.version = std::move(version), .pin = json.text_or_empty("pin")};
    known.is_recent = is_believed(location, known, info.st_mtim.tv_sec);
    if (known.version.etag.empty() && !(known.is_recent && cache_->slots().is_alive(asker))) return std::nullopt;
    return known;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool VersionCatalog::is_believed(const RemoteUrl& location, const KnownVersion& known, std::time_t asked_at) {
  const std::time_t now = std::time(nullptr);
  const bool is_fresh_wanted = FreshVersions::are_wanted();
  if (!is_fresh_wanted && asked_at <= now && (now - asked_at < k_recent_s || asked_at >= since_)) return true;
  {
    const std::lock_guard lock(mutex_);
    if (versions_.was_kept(location.identity(), known.version)) return true;
  }
  const std::string_view pin = is_fresh_wanted ? std::string_view() : PinnedContent::current();
  return !pin.empty() && pin == known.pin && !known.version.etag.empty() && is_whole(location, known.version);
}

bool VersionCatalog::is_whole(const RemoteUrl& location, const FileVersion& version) const {
  try {
    const UnitMap map(cache_->path_of(content_identity(location, version), ".map"));
    return map.file_bytes() == version.size && map.all_present({0, map.num_units()});
  } catch (const Error&) {  // it is not there
    return false;
  }
}

void VersionCatalog::refresh(const RemoteUrl& location) {
  if (location.is_offline()) return;
  if (cache_ && ::unlink(cache_->path_of(location.identity(), ".url").c_str()) == 0) cache_->removed(k_unit_bytes);
  const std::lock_guard lock(mutex_);
  versions_.forget(location.identity());
  missing_.clear();  // what is new there may name files that were not
}

/// Not durable: a record that is lost is asked for again.
void VersionCatalog::record(const RemoteUrl& location, const FileVersion& version, const std::string& pin) const {
  if (!cache_ || cache_->is_full()) return;
  Json json = {{"name", bytes_to_json(location.shown())},
               {"etag", version.etag},
               {"instance", version.instance},
               {"asker", cache_->slots().token()},
               {"content", CacheDirectory::entry_of(content_identity(location, version))},
               {"size", version.size},
               {"ranges", version.has_ranges ? 1 : 0}};
  if (!pin.empty()) json["pin"] = pin;
  json["check"] = check_of(json);
  const std::string path = cache_->path_of(location.identity(), ".url");
  const bool is_new = !name_is_taken(path);
  if (!cache_->reserve(k_unit_bytes))
    return;  // also for the temporary file: who is killed in the meantime is known to have left one
  const std::string name = join_path(parent_directory(path), temporary_name());
  try {
    File file = File::create(name);
    file.write_at(0, as_bytes(record_text(json)));
    const auto renamed = [&] { return ::rename(name.c_str(), path.c_str()) == 0; };
    if (!renamed() && !(std::remove(path.c_str()) == 0 && renamed())) throw_errno("rename", name);
    is_new ? cache_->stored(k_unit_bytes) : cache_->give_back(k_unit_bytes);
  } catch (const Error&) {
    ::unlink(name.c_str());
    cache_->give_back(k_unit_bytes);
  }
}

bool VersionCatalog::is_recorded_as_missing(const RemoteUrl& location) const {
  if (!cache_ || !is_hint(location) || FreshVersions::are_wanted()) return false;
  struct stat info {};
  if (::stat(cache_->path_of(location.identity(), k_missing_suffix).c_str(), &info) != 0) return false;
  const std::time_t age = std::time(nullptr) - info.st_mtim.tv_sec;
  return age >= 0 && age < k_recent_s;
}

/// An empty file, which takes no room.
void VersionCatalog::record_missing(const RemoteUrl& location) const {
  if (!cache_ || !is_hint(location)) return;
  try {
    File::create(cache_->path_of(location.identity(), k_missing_suffix));
  } catch (const Error&) {  // then each process asks
  }
}

VersionCatalog::Answer VersionCatalog::ask_or_record_missing(const RemoteUrl& location,
                                                             const std::optional<KnownVersion>& known) const {
  try {
    return ask(location, known);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found || is_refusal(error)) record_missing(location);
    throw;
  }
}

VersionCatalog::Answer VersionCatalog::ask(const RemoteUrl& location, const std::optional<KnownVersion>& known) const {
  const std::string if_none_match = known ? validator_of(known->version) : std::string();
  // Of a file that is probably the same only the header is wanted.
  const std::uint64_t head_bytes = known && if_none_match.empty() ? 1 : head_bytes_of(location);
  // Most servers that do not answer at all are named wrongly: nobody should wait long for them.
  for (Retry retry(std::max(network_timeout() / 4, std::chrono::seconds(1)));;) {
    const auto body = cache_ ? std::make_shared<UnsizedBody>(cache_, most_unsized_bytes(location)) : nullptr;
    HttpResult result = ask_once(location, if_none_match, head_bytes, retry, body.get());
    if (const auto* const error = std::get_if<Error>(&result)) {
      retry.wait_after(error_at(location.shown(), *error));
      continue;
    }
    HttpResponse& response = std::get<HttpResponse>(result);
    if (response.status == k_not_modified && known) return {.version = known->version};
    // A range from the beginning is refused if there is nothing (RFC 9110, 14.1.2). Not all servers add the size.
    if (response.status == k_bad_range && response.header("content-range") == "bytes */0") {
      return {.version = {.etag = response.header("etag"), .size = 0}};
    }
    if (response.status == k_bad_range) {
      const auto all = std::make_shared<UnsizedBody>(cache_, most_unsized_bytes(location));
      const FileVersion version = measured_version(location, *all);
      return {.version = version, .body = all};
    }
    if (response.status != 200 && response.status != 206) {
      retry.wait_after(location.error_of(response), &response);
      continue;
    }
    if (is_page_instead(location, response)) {
      throw Error(ErrorCode::not_found, "the server sends a page for this name",
                  {.path = location.shown(), .hint = "check the name"});
    }
    if (const auto encoded = error_of_encoding(response, location)) throw Error(*encoded);
    auto version = version_of(response);
    if (is_part(response) && (!version || response.header("content-range").find(" 0-") == std::string::npos)) {
      retry.wait_after(Error(ErrorCode::retryable,
                             "the server answers with another range than the one it was asked for",
                             {.path = location.shown()}));
      continue;
    }
    if (!version) {
      throw Error(ErrorCode::unsupported, "the server does not tell the size of the file",
                  {.path = location.shown(),
                   .hint = "copy it to a local disk first, or read it through a cache: BALE_CACHE_DIR"});
    }
    if (version->etag.empty()) version->instance = temporary_name();
    if (response.body.size() >= std::min(head_bytes, version->size)) {
      return {.version = *version, .head = std::move(response.body), .body = body && body->size() > 0 ? body : nullptr};
    }
    retry.wait_after(
        Error(ErrorCode::retryable, "the server sent less than it was asked for", {.path = location.shown()}));
  }
}

/// How much is taken of a file whose size is not known before: its body may have no end.
std::uint64_t VersionCatalog::most_unsized_bytes(const RemoteUrl& location) const {
  const bool is_small = head_bytes_of(location) == k_read_whole_bytes;
  return is_small || !cache_ ? k_most_small_bytes : cache_->limit_bytes();
}

/// If the server cannot be reached, the version that is known; what the cache lacks of it fails when it is read. Once
/// that happened, this server is not asked again for versions that are known: each would be waited for.
VersionCatalog::Answer VersionCatalog::ask_or_believe(const RemoteUrl& location,
                                                      const std::optional<KnownVersion>& known) {
  const bool may_believe = known && !known->version.etag.empty();
  const std::string server = location.server();
  {
    const std::lock_guard lock(mutex_);
    if (may_believe && unreachable_.contains(server)) return {.version = known->version};
  }
  try {
    return ask_or_record_missing(location, known);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::retryable || !may_believe) throw;
    {
      const std::lock_guard lock(mutex_);
      unreachable_.insert(server);
    }
    warn_of_cache(
        fmt::format("{}; this run reads what the cache has, as it was when the server was last asked", error.what()));
    return {.version = known->version};
  }
}

/// The content digest: the caller's, else the one recorded for this version.
std::string VersionCatalog::pin_of(const FileVersion& version, const std::optional<KnownVersion>& known) {
  if (const std::string_view pin = PinnedContent::current(); !pin.empty()) return std::string(pin);
  return known && known->version == version ? known->pin : std::string();
}

VersionCatalog::Turn& VersionCatalog::Turn::operator=(Turn&& other) noexcept {
  std::swap(catalog_, other.catalog_);
  std::swap(identity_, other.identity_);
  return *this;
}

VersionCatalog::Turn::~Turn() {
  if (catalog_ == nullptr) return;
  {
    const std::lock_guard lock(catalog_->mutex_);
    catalog_->asking_.erase(identity_);
  }
  catalog_->turn_ended_.notify_all();
}

/// The version, if this process knows it. Else it is the caller's turn to ask. Waits while another thread has the turn:
/// who continues before what came with the answer is in the cache would ask for the same bytes.
std::optional<FileVersion> VersionCatalog::known_or_turn(const std::string& identity, Turn& turn) {
  std::unique_lock lock(mutex_);
  while (asking_.contains(identity)) {
    if (turn_ended_.wait_for(lock, k_remote_poll_interval) == std::cv_status::no_timeout) continue;
    lock.unlock();
    poll_remote_wait();
    lock.lock();
  }
  if (auto version = versions_.find(identity)) return version;
  asking_.insert(identity);
  turn = Turn(*this, identity);
  return std::nullopt;
}

VersionCatalog::Answer VersionCatalog::look_up(const RemoteUrl& location) {
  const std::string identity = location.identity();
  Turn turn;
  if (auto version = known_or_turn(identity, turn)) return {.version = *std::move(version)};
  UrlLock asking;
  if (cache_) asking = UrlLock(join_path(cache_->path(), "names"), identity, network_timeout());
  if (is_recorded_as_missing(location)) throw Error(ErrorCode::not_found, "no such file", {.path = location.shown()});
  const std::optional<KnownVersion> known = recorded(location);
  // What nobody read before, though it was looked for, is not there.
  if (!known && location.is_offline() && may_be_missing(location)) {
    throw Error(ErrorCode::not_found, "no such file in the cache", {.path = location.shown()});
  }
  const bool is_believed = known && (known->is_recent || location.is_offline());
  Answer answer = is_believed ? Answer{.version = known->version} : ask_or_believe(location, known);
  if (!is_believed) record(location, answer.version, pin_of(answer.version, known));
  answer.asking = std::move(asking);
  const std::lock_guard lock(mutex_);
  if (auto first = versions_.find(identity); first && *first != answer.version) return {.version = *std::move(first)};
  if (!versions_.keep(identity, answer.version)) throw location.changed();
  answer.turn = std::move(turn);
  return answer;
}

std::string VersionCatalog::content_identity(const RemoteUrl& location, const FileVersion& version) {
  return fmt::format("{}\n{}{}\n{}", location.identity(), version.etag, version.instance, version.size);
}

std::optional<VersionCatalog::Answer> VersionCatalog::find(const RemoteUrl& location) {
  const std::string identity = location.identity();
  {
    const std::lock_guard lock(mutex_);
    if (missing_.contains(identity)) return std::nullopt;
  }
  try {
    return look_up(location);
  } catch (const Error& error) {
    // S3 answers 403 for a file that is not there if the reader may not list the bucket.
    if (error.code() != ErrorCode::not_found && !is_refusal(error)) throw;
    const std::lock_guard lock(mutex_);
    if (missing_.size() >= k_max_missing) missing_.clear();  // they are asked for again
    missing_.insert(identity);
    return std::nullopt;
  }
}

}  // namespace bale

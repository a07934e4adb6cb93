#include "bale/formats/storage/catalog.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/formats/base/temporary_file.hpp"
#include "bale/formats/storage/retry.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_head_bytes = 16 << 10;
constexpr std::uint64_t k_small_bytes = 8 << 20;
constexpr std::uint64_t k_max_record_bytes = 64 << 10;
constexpr std::time_t k_recent_s = 60;
constexpr long k_not_modified = 304;
constexpr long k_bad_range = 416;

/// How much of the body is taken. A server that ignores ranges sends the whole file for each request: if there is a cache to
/// keep it, a small one is taken at once.
std::uint64_t wanted_bytes(const HttpResponse& head, bool has_cache) {
  const auto version = has_cache && head.status == 200 ? version_of(head) : std::nullopt;
  return version && version->size <= k_small_bytes ? std::max(version->size, k_head_bytes) : k_head_bytes;
}

/// One try. Returns the response with the first bytes of its body.
HttpResult ask_once(const Location& location, const std::string& if_none_match, bool fresh_connection,
                    bool has_cache) {
  HttpRequest request = location.get({.range = FileRange{0, k_head_bytes}, .if_none_match = if_none_match});
  request.fresh_connection = fresh_connection;
  request.urgent = true;
  HttpResponse response;
  request.on_body = [&response, has_cache](const HttpResponse& head, Bytes part) {
    if (response.status == 0) response = {.status = head.status, .headers = head.headers};
    const std::size_t room = wanted_bytes(head, has_cache) - response.body.size();
    const Bytes kept = part.first(std::min(part.size(), room));
    response.body.insert(response.body.end(), kept.begin(), kept.end());
    return part.size() <= room;  // a server that ignores ranges sends more
  };
  HttpResult result = HttpClient::instance().carry_out(std::move(request));
  const bool is_cut = response.status == 200 && response.body.size() == wanted_bytes(response, has_cache);
  if (std::holds_alternative<Error>(result) && !is_cut) return result;
  if (auto* const got = std::get_if<HttpResponse>(&result); got != nullptr && response.status == 0) return result;
  return response;
}

Error named(const Error& error, const Location& location) {
  return {error.code(), error.message(), {.path = location.shown(), .hint = error.context().hint}};
}

}  // namespace

std::optional<Catalog::Known> Catalog::recorded(const Location& location) const {
  if (!cache_) return std::nullopt;
  const std::string path = cache_->path_of(location.identity(), ".url");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  try {
    const nlohmann::json json = parse_json(as_text(read_file(path, k_max_record_bytes)));
    const std::time_t age = std::time(nullptr) - info.st_mtim.tv_sec;
    return Known{{.etag = text_from_json(json_member(json, "etag"), "etag"),
                  .size = count_from_json(json_member(json, "size")),
                  .has_ranges = count_from_json(json_member(json, "ranges")) != 0},
                 age >= 0 && age < k_recent_s};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Not durable: a record that is lost is asked for again.
void Catalog::record(const Location& location, const FileVersion& version) const {
  if (!cache_ || cache_->is_full()) return;
  const nlohmann::json json = {{"name", bytes_to_json(location.shown())},
                               {"etag", version.etag},
                               {"size", version.size},
                               {"ranges", version.has_ranges ? 1 : 0}};
  const std::string path = cache_->path_of(location.identity(), ".url");
  const std::string name = join_path(parent_directory(path), temporary_name());
  try {
    File file = File::create(name);
    file.write_at(0, as_bytes(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
    if (::rename(name.c_str(), path.c_str()) != 0) throw_errno("rename", name);
  } catch (const Error&) {
    ::unlink(name.c_str());
  }
}

Catalog::Answer Catalog::ask(const Location& location, const std::optional<Known>& known) const {
  const std::string if_none_match = known ? known->version.strong_etag() : std::string();
  // Most servers that do not answer at all are named wrongly: nobody should wait long for them.
  for (Retry retry(std::max(network_timeout() / 4, std::chrono::seconds(1)));;) {
    HttpResult result = ask_once(location, if_none_match, retry.num_failures() > 0, cache_ != nullptr);
    if (const auto* const error = std::get_if<Error>(&result)) {
      retry.wait_after(named(*error, location));
      continue;
    }
    HttpResponse& response = std::get<HttpResponse>(result);
    if (response.status == k_not_modified && known) return {.version = known->version};
    const bool is_empty = response.status == k_bad_range && response.header("content-range") == "bytes */0";
    if (is_empty) return {.version = {.etag = response.header("etag"), .size = 0}};
    if (response.status != 200 && response.status != 206) {
      retry.wait_after(location.error_of(response), &response);
      continue;
    }
    const auto version = version_of(response);
    if (is_part(response) && (!version || response.header("content-range").find(" 0-") == std::string::npos)) {
      retry.wait_after(Error(ErrorCode::retryable, "the server answers with another range than the one it was asked for",
                             {.path = location.shown()}));
      continue;
    }
    if (!version) {
      throw Error(ErrorCode::unsupported, "the server does not tell the size of the file",
                  {.path = location.shown(), .hint = "copy it to a local disk first"});
    }
    if (response.body.size() >= std::min(k_head_bytes, version->size)) {
      return {.version = *version, .head = std::move(response.body)};
    }
    retry.wait_after(Error(ErrorCode::retryable, "the server sent less than it was asked for", {.path = location.shown()}));
  }
}

Catalog::Answer Catalog::look_up(const Location& location) {
  const std::string identity = location.identity();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = versions_.find(identity); found != versions_.end()) return {.version = found->second};
  }
  const std::optional<Known> known = recorded(location);
  Answer answer = known && known->is_recent ? Answer{.version = known->version} : ask(location, known);
  if (!known || !known->is_recent) record(location, answer.version);
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = versions_.try_emplace(identity, answer.version);
  if (!is_new && entry->second != answer.version) answer = {.version = entry->second};  // another thread was first
  return answer;
}

std::optional<Catalog::Answer> Catalog::find(const Location& location) {
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
    missing_.insert(identity);
    return std::nullopt;
  }
}

}  // namespace bale

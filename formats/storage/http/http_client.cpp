#include "bale/formats/storage/http/http_client.hpp"

#include <cstdlib>
#include <future>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/storage/http/http_engine.hpp"

namespace bale {

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpClient::HttpClient() : engine_(make_http_engine()) {}
HttpClient::~HttpClient() = default;

HttpClient& HttpClient::instance() {
  static constinit PerProcess<HttpClient> clients;
  return clients.get([] {
    // First, so that the client is destroyed before OpenSSL cleans up at exit.
    std::unique_ptr<HttpClient> client(new HttpClient());
    std::atexit([] { clients.destroy(); });
    return client;
  });
}

void HttpClient::submit(HttpRequest request, std::function<void(HttpResult)> done) {
  if (request.open) return submit_to_source(std::move(request), std::move(done));
  engine_->submit(std::move(request), std::move(done));
}

HttpResult HttpClient::carry_out(HttpRequest request, const std::function<bool()>& is_late) {
  std::promise<HttpResult> promise;
  std::future<HttpResult> result = promise.get_future();
  const auto is_cancelled = std::make_shared<std::atomic<bool>>(false);
  request.is_cancelled = is_cancelled;
  request.urgent = true;  // somebody waits for it
  submit(std::move(request), [&promise](HttpResult ended) { promise.set_value(std::move(ended)); });
  const auto end = [&] {
    *is_cancelled = true;
    look_for_cancelled();
    result.wait();
  };
  try {
    while (result.wait_for(k_remote_poll_interval) != std::future_status::ready) {
      poll_remote_wait();
      if (!is_late || !is_late()) continue;
      end();
      return Error(ErrorCode::retryable, "the server is too slow");
    }
  } catch (...) {
    end();
    throw;
  }
  return result.get();
}

void HttpClient::look_for_cancelled() { engine_->look_for_cancelled(); }

HttpResponse HttpClient::perform(HttpRequest request) {
  HttpResult ended = carry_out(std::move(request));
  if (auto* const error = std::get_if<Error>(&ended)) throw Error(*error);
  return std::get<HttpResponse>(std::move(ended));
}

}  // namespace bale

// What a build without BALE_REMOTE has instead of requests to servers.
#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/http/http_engine.hpp"
#include "bale/formats/storage/objects/object_store.hpp"

namespace bale {
namespace {

Error no_remote_error(const std::string& path) {
  return Error(ErrorCode::unsupported, "this build of bale makes no requests to servers",
               {.path = path, .hint = "configure it with -DBALE_REMOTE=ON"});
}

class NoEngine final : public HttpEngine {
 public:
  void submit(HttpRequest request, std::function<void(HttpResult)> done) override {
    done(no_remote_error(request.url));
  }
  void look_for_cancelled() override {}
};

}  // namespace

std::unique_ptr<HttpEngine> make_http_engine() { return std::make_unique<NoEngine>(); }

std::time_t parse_http_time(const std::string&) { return -1; }

std::unique_ptr<const ObjectStore> ObjectStore::open(const std::string& name, std::function<void()>) {
  throw Error(no_remote_error(name));
}

bool keeps_removed_objects(const std::string&) { return false; }

}  // namespace bale

// Names of a program's own scheme, and the table of all schemes.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/schemes.hpp"
#include "bale/formats/storage/url_scheme.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

struct Stored {
  std::string content;
  std::string version;
};

/// What the server of the tests holds, and how it was asked.
struct Server {
  std::map<std::string, Stored> files;
  std::atomic<int> num_opened{0};
  std::atomic<int> num_failures{0};  // of the next requests
};

Server& server() {
  static Server one;
  return one;
}

class ServedFile final : public UrlSource {
 public:
  explicit ServedFile(const Stored& stored) : stored_(stored) {}
  std::uint64_t size() const override { return stored_.content.size(); }
  std::string version() const override { return stored_.version; }
  std::size_t read_some(std::uint64_t offset, MutableBytes out) const override {
    const Bytes rest = as_bytes(stored_.content).subspan(std::min<std::uint64_t>(offset, size()));
    const std::size_t count = std::min({out.size(), rest.size(), std::size_t{1000}});  // as a socket might
    std::copy_n(rest.begin(), count, out.begin());
    return count;
  }

 private:
  const Stored stored_;
};

/// With a cache of its own, since what a process knows of remote files stays with it.
void start_server() {
  static const test::TempDir cache;
  static const bool is_started = [] {
    ::setenv("BALE_CACHE_DIR", cache.path().c_str(), 1);
    ::setenv("BALE_NETWORK_TIMEOUT", "5", 1);
    add_schemes();
    add_url_scheme({.name = "own+1",
                    .open = [](const std::string& name) -> std::unique_ptr<UrlSource> {
                      ++server().num_opened;
                      if (server().num_failures-- > 0) throw Error(ErrorCode::retryable, "the server is tired");
                      const auto found = server().files.find(name);
                      if (found == server().files.end()) throw Error(ErrorCode::not_found, "no such thing");
                      return std::make_unique<ServedFile>(found->second);
                    },
                    .list =
                        [](const std::string&) {
                          return std::vector<std::string>{"own+1://d/b", "own+1://d/a"};
                        },
                    .check =
                        [](const std::string& name) {
                          if (name.ends_with('!')) throw Error(ErrorCode::invalid_argument, "a cry is not a name");
                        }});
    return true;
  }();
  REQUIRE(is_started);
  server().num_opened = 0;
  server().num_failures = 0;
}

std::string content_of(std::size_t size) {
  std::string content(size, '\0');
  for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 7 + i / 251);
  return content;
}

std::string read_range(const File& file, std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  file.read_exact(offset, {reinterpret_cast<std::byte*>(text.data()), size});
  return text;
}

}  // namespace

TEST_CASE("files of an own scheme are read through the cache", "[storage]") {
  start_server();
  const std::string content = content_of(300'000);
  server().files["own+1://d/file"] = {content, "1"};
  const File file = File::open_read("OWN+1://d/file");
  CHECK(file.size() == content.size());
  CHECK(read_range(file, 0, content.size()) == content);
  const int num_opened = server().num_opened;
  CHECK(num_opened > 0);
  CHECK(read_range(file, 123'456, 100'000) == content.substr(123'456, 100'000));
  CHECK(as_text(read_file("own+1://d/file")) == content);
  CHECK(server().num_opened == num_opened);
  CHECK(path_exists("own+1://d/file"));
}

TEST_CASE("what an own scheme refuses is reported", "[storage]") {
  start_server();
  CHECK_FALSE(path_exists("own+1://d/missing"));
  CHECK(test::error_of([] { File::open_read("own+1://d/missing"); }).code() == ErrorCode::not_found);
  CHECK(test::error_of([] { File::open_read("own+1://d/x!"); }).code() == ErrorCode::invalid_argument);
  CHECK(test::error_of([] { require_local_name("own+1://d/x!", UrlUse::dataset); }).code() ==
        ErrorCode::invalid_argument);
  server().files["own+1://d/later"] = {content_of(10), "1"};
  server().num_failures = 2;
  server().num_opened = 0;
  CHECK(File::open_read("own+1://d/later").size() == 10);  // asked again
  CHECK(server().num_opened == 3);
}

TEST_CASE("a file of an own scheme that changes while it is read is an error", "[storage]") {
  start_server();
  server().files["own+1://d/changing"] = {content_of(5'000'000), "1"};
  const File file = File::open_read("own+1://d/changing");
  server().files["own+1://d/changing"].version = "2";
  CHECK(test::error_of([&] { read_range(file, 3'000'000, 100); }).code() == ErrorCode::changed);
}

TEST_CASE("directories of an own scheme are listed, sorted", "[storage]") {
  start_server();
  const Storage* const storage = remote_storage_of("own+1://d");
  REQUIRE(storage != nullptr);
  CHECK(storage->list("own+1://d") == std::vector<std::string>{"own+1://d/a", "own+1://d/b"});
  CHECK(storage->join("own+1://d", "a b") == "own+1://d/a b");
}

TEST_CASE("the name of a scheme is well-formed and not taken", "[storage]") {
  start_server();
  const auto open = [](const std::string&) { return std::unique_ptr<UrlSource>(); };
  for (const char* name : {"s3", "gs", "own+1", "", "x", "Upper", "a b", "a:"}) {
    CAPTURE(name);
    CHECK(test::error_of([&] { add_url_scheme({.name = name, .open = open}); }).code() == ErrorCode::invalid_argument);
  }
  CHECK(test::error_of([] { add_url_scheme({.name = "shut"}); }).code() == ErrorCode::invalid_argument);
}

TEST_CASE("the table says what each scheme can do", "[storage]") {
  start_server();
  std::set<std::string> read;
  std::set<std::string> listed;
  std::set<std::string> written;
  std::set<std::string> with_query;
  for (const Scheme* scheme : all_schemes()) {
    if (scheme->storage != nullptr) read.insert(scheme->name);
    if (scheme->can_list) listed.insert(scheme->name);
    if (scheme->can_write()) written.insert(scheme->name);
    if (scheme->has_query) with_query.insert(scheme->name);
  }
  CHECK(read == std::set<std::string>{"file", "hf", "http", "https", "own+1", "s3"});
  CHECK(listed == std::set<std::string>{"file", "hf", "own+1", "s3"});
  CHECK(written == std::set<std::string>{"s3"});
  CHECK(with_query == std::set<std::string>{"http", "https"});
  CHECK(remote_scheme_of("gs://b/x") == nullptr);  // known, but not read
  CHECK(remote_scheme_of("HTTPS://h/x?y") == find_scheme("https"));
  CHECK(begin_of_query("https://h/x?y") == 11);
  CHECK(begin_of_query("s3://b/x?y") == 10);
}

#include "bale/formats/storage/objects/object_store.hpp"

#include <algorithm>
#include <mutex>
#include <semaphore>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/storage/aws/answers/s3_answers.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"
#include "bale/formats/storage/objects/object_requests.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_part_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t k_part_unit = std::uint64_t{1} << 20;
constexpr std::uint64_t k_most_parts = 10'000;  // of an upload, in S3
constexpr unsigned k_parts_at_a_time = 4;       // of one file
constexpr unsigned k_most_uploads = 3;          // of one file, if others abort it in the meantime
constexpr long k_not_found = 404;
constexpr long k_precondition_failed = 412;
constexpr long k_not_implemented = 501;
constexpr long k_method_not_allowed = 405;

/// Bounds the memory of this process: each part is held while it is sent.
class PartSlot {
 public:
  explicit PartSlot(const std::function<void()>& poll) {
    while (!slots().try_acquire_for(k_remote_poll_interval)) {
      if (poll) poll();
    }
  }
  ~PartSlot() { slots().release(); }
  PartSlot(const PartSlot&) = delete;
  PartSlot& operator=(const PartSlot&) = delete;

 private:
  static std::counting_semaphore<>& slots() {
    constexpr std::ptrdiff_t k_at_a_time = 16;
    static std::counting_semaphore<> all(k_at_a_time);
    return all;
  }
};

/// The upload was aborted in the meantime: by another attempt at the same file, or by the bucket's rules.
struct UploadIsGone {};

/// Large enough for the number of parts that S3 takes.
std::uint64_t part_bytes_of(std::uint64_t size) {
  const std::uint64_t least = (size + k_most_parts - 1) / k_most_parts;
  return std::max(k_part_bytes, (least + k_part_unit - 1) / k_part_unit * k_part_unit);
}

std::string read_part(const File& file, std::uint64_t offset, std::uint64_t size) {
  std::string part(size, '\0');
  file.read_exact(offset, {reinterpret_cast<std::byte*>(part.data()), part.size()});
  return part;
}

std::string without_quotes(std::string etag) {
  std::erase(etag, '"');
  return etag;
}

std::string id_query(const std::string& id) { return "uploadId=" + encoded_query_value(id); }

/// The requests of one store, and what uploads consist of.
class StoreRequests {
 public:
  StoreRequests(const std::string& name, std::function<void()> poll) : sender_(name, std::move(poll)) {}

  const ObjectSender& sender() const { return sender_; }

  void put(const std::string& key, const ObjectRequest::Body& body) const {
    sender_.send({.method = "PUT", .key = key, .body = body});
  }

  /// Returns false if the condition, a header, does not hold.
  bool put_if(std::pair<std::string, std::string> condition, const std::string& key, Bytes content) const {
    ObjectRequest request{.method = "PUT", .key = key, .headers = {std::move(condition)}, .body = [&] {
                            return std::string(as_text(content));
                          }};
    const HttpResponse response = sender_.send(request, {k_precondition_failed, k_not_found, k_not_implemented});
    if (response.status == k_not_found && parse_s3_error(response.body).code != "NoSuchKey") {
      throw sender_.error_of(key, response);
    }
    if (response.status == k_precondition_failed || response.status == k_not_found) return false;
    if (response.status != k_not_implemented) return true;
    request.headers.clear();  // a server without conditions; the caller has looked
    sender_.send(request);
    return true;
  }

  /// Throws UploadIsGone.
  void upload_in_parts(const std::string& key, const File& file, std::uint64_t size) const {
    const HttpResponse begun = sender_.send({.method = "POST", .key = key, .query = "uploads"});
    const std::string id = parse_upload_id(begun.body);
    try {
      complete(key, id, send_parts(key, id, file, size));
    } catch (const UploadIsGone&) {
      throw;
    } catch (...) {
      sender_.send_briefly({.method = "DELETE", .key = key, .query = id_query(id)});
      throw;
    }
  }

 private:
  std::vector<std::string> send_parts(const std::string& key, const std::string& id, const File& file,
                                      std::uint64_t size) const {
    const std::uint64_t part_bytes = part_bytes_of(size);
    std::vector<std::string> etags((size + part_bytes - 1) / part_bytes);
    run_parallel(etags.size(), k_parts_at_a_time, [&](std::size_t number) {
      const PartSlot slot([this] { sender_.poll(); });
      const std::uint64_t offset = number * part_bytes;
      const auto body = [&] { return read_part(file, offset, std::min(part_bytes, size - offset)); };
      const HttpResponse response = sender_.send({.method = "PUT",
                                                  .key = key,
                                                  .query = fmt::format("partNumber={}&{}", number + 1, id_query(id)),
                                                  .body = body},
                                                 {k_not_found});
      if (response.status == k_not_found) refuse_gone(key, response);
      etags[number] = response.header("etag");
      if (etags[number].empty()) {
        throw Error(ErrorCode::io, "the server gives no ETag for a part of an upload", {.path = sender_.name_of(key)});
      }
    });
    return etags;
  }

  void complete(const std::string& key, const std::string& id, const std::vector<std::string>& etags) const {
    const HttpResponse response = sender_.send(
        {.method = "POST", .key = key, .query = id_query(id), .body = [&] { return completion_text(etags); }},
        {k_not_found});
    if (response.status == k_not_found) refuse_gone(key, response);
  }

  /// An upload that is gone may also have been completed by a try whose answer was lost. It is made again then, too.
  [[noreturn]] void refuse_gone(const std::string& key, const HttpResponse& response) const {
    if (parse_s3_error(response.body).code == "NoSuchUpload") throw UploadIsGone();
    throw sender_.error_of(key, response);
  }

  ObjectSender sender_;
};

struct VersionedBuckets {
  std::mutex mutex{};
  std::set<std::string> names{};
};

VersionedBuckets& versioned_buckets() {
  static VersionedBuckets all;
  return all;
}

class S3Store final : public ObjectStore {
 public:
  S3Store(const std::string& name, std::function<void()> poll) : requests_(name, std::move(poll)) {}

  std::string name_of(std::string_view key) const override { return requests_.sender().name_of(key); }

  std::vector<StoredObject> list() const override {
    std::vector<StoredObject> objects;
    requests_.sender().list({}, 0, [&](const S3Object& object, std::string key) {
      objects.push_back({std::move(key), object.size, without_quotes(object.etag), object.modified});
    });
    return objects;
  }

  std::optional<StoredObject> find(const std::string& key) const override {
    std::optional<StoredObject> found;
    // The name itself is the first of those that begin with it.
    requests_.sender().list(key, 1, [&](const S3Object& object, std::string stored) {
      if (stored == key) found = StoredObject{key, object.size, without_quotes(object.etag), object.modified};
    });
    return found;
  }

  std::optional<ObjectContent> read_with_etag(const std::string& key) const override {
    HttpResponse response = requests_.sender().send({.method = "GET", .key = key}, {k_not_found});
    if (response.status != k_not_found) {
      std::string etag = without_quotes(response.header("etag"));
      return ObjectContent{std::move(response.body), std::move(etag)};
    }
    if (parse_s3_error(response.body).code == "NoSuchBucket") throw requests_.sender().error_of(key, response);
    return std::nullopt;
  }

  StoredObject upload(const std::string& key, const std::string& path) const override {
    const File file = File::open_read(path);
    const std::uint64_t size = file.size();
    for (unsigned tries = 1;; ++tries) {
      try {
        if (size <= k_part_bytes) {
          const PartSlot slot([this] { requests_.sender().poll(); });
          requests_.put(key, [&] { return read_part(file, 0, size); });
        } else {
          requests_.upload_in_parts(key, file, size);
        }
        break;
      } catch (const UploadIsGone&) {
        if (tries < k_most_uploads) continue;
        throw Error(ErrorCode::retryable, "the upload was aborted by another program", {.path = name_of(key)});
      }
    }
    std::optional<StoredObject> stored = find(key);
    if (stored && stored->size == size) return *std::move(stored);
    throw Error(
        ErrorCode::retryable, "the object was replaced by another upload",
        {.path = name_of(key), .hint = "let one program at a time write there, and run it again with `resume`"});
  }

  void put(const std::string& key, Bytes content) const override {
    requests_.put(key, [&] { return std::string(as_text(content)); });
  }

  bool put_if_absent(const std::string& key, Bytes content) const override {
    if (find(key)) return false;
    return requests_.put_if({"If-None-Match", "*"}, key, content);
  }

  bool replace(const std::string& key, const std::string& etag, Bytes content) const override {
    const std::optional<StoredObject> there = find(key);
    if (!there || there->etag != etag) return false;
    return requests_.put_if({"If-Match", '"' + etag + '"'}, key, content);
  }

  bool copy(const std::string& from, const std::string& to) const override {
    const std::optional<StoredObject> there = find(from);
    if (!there) return false;
    const HttpResponse response = requests_.sender().send(
        {.method = "PUT", .key = to, .headers = {{"x-amz-copy-source", requests_.sender().copy_source_of(from)}}},
        {k_not_found});
    if (response.status == k_not_found) {
      if (parse_s3_error(response.body).code == "NoSuchBucket") throw requests_.sender().error_of(to, response);
      return false;
    }
    if (const auto copied = find(to); copied && copied->size == there->size) return true;
    throw Error(ErrorCode::retryable, "is not there after the server copied it", {.path = name_of(to)});
  }

  void remove(const std::string& key) const override {
    const HttpResponse response = requests_.sender().send({.method = "DELETE", .key = key}, {k_not_found});
    if (response.header("x-amz-delete-marker") != "true") return;
    const std::lock_guard lock(versioned_buckets().mutex);
    versioned_buckets().names.insert(requests_.sender().bucket());
  }

  std::vector<UnfinishedUpload> unfinished_uploads() const override {
    const ObjectSender& sender = requests_.sender();
    std::vector<UnfinishedUpload> found;
    UploadListing part;
    do {
      std::string query = "encoding-type=url";
      if (!part.next_key.empty()) query += "&key-marker=" + encoded_query_value(part.next_key);
      query += "&prefix=" + encoded_query_value(sender.prefix());
      if (!part.next_id.empty()) query += "&upload-id-marker=" + encoded_query_value(part.next_id);
      const HttpResponse response = sender.send({.method = "GET", .query = query + "&uploads", .of_bucket = true},
                                                {k_not_implemented, k_method_not_allowed, k_not_found});
      // rclone says so if there are none.
      const bool is_none = response.status == k_not_found && parse_s3_error(response.body).code == "NoSuchUpload";
      if (is_none || response.status == k_not_implemented || response.status == k_method_not_allowed) break;
      if (response.status == k_not_found) throw sender.error_of({}, response);
      const std::string before = part.next_key + '\n' + part.next_id;
      part = parse_upload_listing(response.body);
      for (UploadListing::Upload& upload : part.uploads) {
        if (!upload.key.starts_with(sender.prefix())) continue;
        found.push_back({upload.key.substr(sender.prefix().size()), std::move(upload.id)});
      }
      if (part.next_key + '\n' + part.next_id == before) break;  // a server that repeats itself
    } while (!part.next_key.empty());
    return found;
  }

  void abort(const UnfinishedUpload& upload) const override {
    requests_.sender().send({.method = "DELETE", .key = upload.key, .query = id_query(upload.id)}, {k_not_found});
  }

 private:
  const StoreRequests requests_;
};

}  // namespace

bool keeps_removed_objects(const std::string& name) {
  if (!is_object_store(name)) return false;
  const std::lock_guard lock(versioned_buckets().mutex);
  return versioned_buckets().names.contains(parse_s3_url(name).bucket);
}

std::unique_ptr<const ObjectStore> ObjectStore::open(const std::string& name, std::function<void()> poll) {
  return std::make_unique<S3Store>(name, std::move(poll));
}

}  // namespace bale

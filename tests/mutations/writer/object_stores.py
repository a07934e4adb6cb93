"""Mutations of what writing to object stores promises."""
from mutations.mutation import Mutation

WRITING = ("python", "tests/python/objects/test_remote_writing.py", "-k")
CHANGES = ("python", "tests/python/objects/test_remote_changes.py", "-k")
FAULTS = ("python", "tests/python/objects/test_remote_writing_faults.py", "-k")

ODD = ("python", "tests/python/remote/test_remote_odd_servers.py", "-k")

MUTATIONS = [
    Mutation("a part of a listing that comes again ends it", "formats/storage/location/remote_url.hpp",
             "    if (part.next.empty() && is_new) return;", "    if (part.next.empty() || !is_new || asked.contains(part.next)) return;",
             (*ODD, "repeats_itself")),
    Mutation("the hub's token goes to any host", "formats/storage/location/hub_location.cpp",
             "if (parts.scheme == hub.scheme && parts.authority == hub.authority) return next;", "return next;",
             (*ODD, "leads_back")),
    Mutation("a body without an end is taken", "formats/storage/ranges/unsized_body.cpp", "return size_ <= most_bytes_;",
             "return true;", (*ODD, "without_an_end and fast and manifest")),
    Mutation("offline, servers are asked", "formats/storage/version_catalog.cpp",
             "(known->is_recent || location.is_offline());", "known->is_recent;", (*ODD, "offline")),
    Mutation("a date in Retry-After is ignored", "formats/storage/http/retry.cpp",
             "parse_http_time(text)", "std::time_t{0}", (*ODD, "until_a_time")),
    Mutation("uploads have no checksum", "formats/storage/objects/object_requests.cpp",
             "  if (request.body) http.headers.emplace_back(\"Content-MD5\", content_md5(http.body));\n", "",
             (*FAULTS, "change_on_their_way")),
    Mutation("an upload that fails is left", "formats/storage/objects/object_store.cpp",
             "      sender_.send_briefly({.method = \"DELETE\", .key = key, .query = id_query(id)});\n", "",
             (*FAULTS, "fails_is_aborted")),
    Mutation("an upload that another aborted ends the run", "formats/storage/objects/object_store.cpp",
             "if (tries < k_most_uploads) continue;", "", (*FAULTS, "another_aborts")),
    Mutation("a completion that fails with status 200 is believed", "formats/storage/objects/object_requests.cpp",
             "return request.method != \"POST\" || parse_s3_error(response.body).code.empty();", "return true;",
             (*FAULTS, "status_200")),
    Mutation("the manifest takes the place of another", "formats/storage/objects/object_store.cpp",
             "return requests_.put_if({\"If-None-Match\", \"*\"}, key, content);", "return requests_.put_if({\"X-None\", \"*\"}, key, content);",
             (*WRITING, "appears_in_the_meantime")),
    Mutation("a change takes the place of another's", "formats/storage/objects/object_store.cpp", "return requests_.put_if({\"If-Match\",",
             "return requests_.put_if({\"X-Match\",", (*CHANGES, "two_at_once")),
    Mutation("a change whose manifest was replaced at once says nothing", "writer/run/objects/object_manifest.cpp",
             "  if (now && now->text == text) return;\n", "  if (now) return;\n", (*CHANGES, "without_conditions")),
    Mutation("what was missing is missing for ever", "formats/storage/version_catalog.cpp", "  missing_.clear();  // what is new", "  // what is new",
             (*CHANGES, "keeps_its_version")),
    Mutation("a run that was replaced publishes", "writer/run/objects/object_run_store.cpp",
             "    if (error.code() == ErrorCode::changed) withdraw();\n    throw;\n", "", (*WRITING, "was_replaced")),
    Mutation("a run that begins does not look again", "writer/run/objects/object_destination.cpp",
             "  if (is_parts_) return resume();  // others may have begun\n", "  return;\n", (*WRITING, "same_time_one")),
    Mutation("uploads of killed runs stay", "writer/run/objects/object_destination.cpp",
             "    if (own.contains(upload.key)) store_->abort(upload);\n", "", (*FAULTS, "killed_and_resumed")),
    Mutation("an object is taken for that of the record whatever its ETag", "writer/run/objects/object_destination.cpp",
             "there == nullptr || *there != file) return false;", "there == nullptr) return false;", (*FAULTS, "changed_between")),
    Mutation("old shards stay", "writer/run/objects/object_run_store.cpp", "  destination_.remove_replaced();\n", "",
             (*WRITING, "test_overwrite")),
    Mutation("what killed runs built stays", "writer/run/objects/staging_directory.cpp", "  remove_stale(place);\n", "",
             (*WRITING, "staging")),
]

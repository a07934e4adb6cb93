"""Mutations of reading from servers: what is asked for, what is believed, and the cache that processes share."""
from mutations.mutation import Mutation

HTTP, S3 = "tests/python/test_remote_http.py", "tests/python/test_remote_s3.py"
FAULTS, CACHE = "tests/python/test_remote_faults.py", "tests/python/test_remote_cache.py"


def python(file, name):
    return ("python", file, "-k", name)


MUTATIONS = [
    Mutation("a local file that changes is not noticed", "formats/storage/file_transport.cpp",
             "if (!wanted.empty() && wanted != response.headers[\"etag\"]) return HttpResponse{.status = 412};", "",
             python("tests/python/test_remote_files.py", "changes")),
    Mutation("the network is never what training waits for", "tools/measure/doctor_verdict.cpp",
             "  if (waits_for_network(figures)) return Bottleneck::network;\n", "",
             python("tests/python/test_remote_files.py", "doctor")),
    Mutation("requests for ranges do not name the version", "formats/storage/location.cpp",
             'if (!condition.if_match.empty()) request.headers.emplace_back("If-Match", condition.if_match);',
             "(void)condition.if_match;", python(HTTP, "version_is_pinned")),
    Mutation("a range ends one byte late", "formats/storage/location.cpp",
             "condition.range->offset + condition.range->length - 1));", "condition.range->offset + condition.range->length));",
             python(HTTP, "ranges_follow")),
    Mutation("the signature of a presigned URL is part of the file's identity", "formats/storage/location.cpp",
             "return is_presigned() ? url_.substr(0, url_.find('?')) : url_;", "return url_;", python(CACHE, "another_signature")),
    Mutation("a server that is busy is not asked again", "formats/storage/location.cpp",
             "status == 425 || status == 429 || status >= 500", "status == 425 || status >= 500",
             python(FAULTS, "faults_that_pass and 429")),
    Mutation("Retry-After is not waited for", "formats/storage/retry.cpp",
             "std::max<milliseconds>(drawn, asked_pause(response))", "drawn + 0 * asked_pause(response)",
             python(FAULTS, "retry_after")),
    Mutation("a token goes to the host of a redirect", "formats/storage/http_client.cpp",
             "set(CURLOPT_MAXREDIRS, k_max_redirects);",
             "set(CURLOPT_MAXREDIRS, k_max_redirects);\n    set(CURLOPT_UNRESTRICTED_AUTH, 1L);", python(HTTP, "test_hub and tar")),
    Mutation("a child of fork() uses the parent's connections", "formats/storage/http_client.cpp",
             "if (here.owner != ::getpid()) {", "if (here.client == nullptr) {",
             ("python", "tests/python/test_python_remote.py", "-k", "test_forks and unused")),
    Mutation("an answer of another version is believed", "formats/storage/range_body.cpp",
             "  if (is_other) {\n", "  if (is_other && wanted_.length == 0) {\n", python(FAULTS, "changes_while_it_is_read")),
    Mutation("compressed bytes are taken for the file's", "formats/storage/range_body.cpp",
             'if (encoding.empty() || encoding == "identity") return std::nullopt;', "if (!encoding.empty()) return std::nullopt;",
             python(FAULTS, "stay and gzip")),
    Mutation("files that are known are fetched again", "formats/storage/catalog.cpp",
             "known ? validator_of(known->version) : std::string();", "std::string();", python(CACHE, "a_warm_run")),
    Mutation("the ETag is not part of a cached file's identity", "formats/storage/catalog.cpp",
             "location.identity(), version.etag, version.instance, version.size);",
             'location.identity(), "", version.instance, version.size);',
             python(CACHE, "a_new_version")),
    Mutation("the checksum of a cached unit is not compared", "formats/storage/cache/cached_file.cpp",
             "if (crc32c(bytes) == expected) return;", "if (crc32c(bytes) == expected || map_.file_bytes() != 0) return;",
             python(CACHE, "without_an_index")),
    Mutation("what a dead process claimed is never fetched", "formats/storage/cache/unit_map.cpp",
             "state != known_alive && slots.is_alive(state)) known_alive = state;", "state != known_alive) known_alive = state;",
             python(CACHE, "after_a_kill")),
    Mutation("the query of a signed request is not sorted", "formats/storage/aws/sigv4.cpp",
             "  std::sort(query.begin(), query.end());\n", "", ("storage", "The signatures of*")),
    Mutation("credentials are used until they have expired", "formats/storage/aws/credentials.cpp",
             "if (now + k_early < *current_->expiration) return true;", "if (now < *current_->expiration) return true;", ("storage",)),
    Mutation("an error of S3 that passes ends the run", "formats/storage/s3.cpp",
             'k_passing_codes{"RequestTimeout", ', 'k_passing_codes{"AccessDenied", ',
             python(S3, "errors_that_pass and RequestTimeout")),
]

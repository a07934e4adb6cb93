#include "bale/tools/help/command_model.hpp"

namespace bale::tools {
namespace {

constexpr VariableModel k_variables[] = {
    {"BALE_CACHE_DIR",
     "Directory of the cache of remote files, or none (default: bale in XDG_CACHE_HOME or ~/.cache)."},
    {"BALE_CACHE_LIMIT", "Most bytes that the cache may take, such as 200GiB (default: 9/10 of what is free)."},
    {"BALE_NETWORK_TIMEOUT", "Seconds that a read may wait for a server (default: 120)."},
    {"BALE_MEMORY_BYTES",
     "Memory to keep files in: a dataset that does not fit is read around the page cache (default: what is free)."},
    {"BALE_SPILL_BYTES", "Most bytes that inflated shards may take in TMPDIR (default: half of what is free there)."},
    {"BALE_SIMD", "Excludes instruction sets better than this one: AVX2, SSE4, ..."},
    {"BALE_WORKER", "Path of bale-worker, if it is not next to the program."},
    {"TMPDIR", "Directory of temporary files (default: /tmp)."},
    {"LOCAL_WORLD_SIZE", "Processes of a training on this machine, which share its cores (default: 1)."},
    {"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN", "Credentials for s3:// names."},
    {"AWS_PROFILE, AWS_DEFAULT_PROFILE, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE",
     "Profile with credentials and settings, and its files."},
    {"AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME", "Credentials of a web identity."},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN, "
     "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
     "Credentials of a container."},
    {"AWS_EC2_METADATA_DISABLED, AWS_EC2_METADATA_SERVICE_ENDPOINT, AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
     "Credentials of an instance."},
    {"AWS_NO_SIGN_REQUEST", "1: read public buckets without credentials."},
    {"AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, S3_ENDPOINT_URL, AWS_ENDPOINT_URL_STS, "
     "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
     "Servers other than Amazon's."},
    {"AWS_REGION, AWS_DEFAULT_REGION", "Region of the buckets."},
    {"AWS_S3_ADDRESSING_STYLE", "path or virtual."},
    {"AWS_REQUEST_PAYER", "requester: pay for what is read."},
    {"HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_ENDPOINT", "Token, place of the stored token, and server for hf:// names."},
    {"https_proxy, http_proxy, no_proxy", "Proxies."},
    {"BALE_OFFLINE, HF_HUB_OFFLINE", "1: read what the cache has, and ask no server (HF_HUB_OFFLINE: not the Hub)."},
    {"AWS_CA_BUNDLE", "File or directory with the certificates that are trusted for s3:// names."},
    {"CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR",
     "File or directory with the trusted certificates, the first that is set (default: the system's)."}};

}  // namespace

std::span<const VariableModel> environment_variables() { return k_variables; }

}  // namespace bale::tools

#include "bale/formats/storage/aws/object_listing.hpp"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/excerpt.hpp"
#include "bale/formats/storage/aws/uri_encoding.hpp"

namespace bale {
namespace {

constexpr std::size_t k_shown_code = 64;
constexpr std::size_t k_shown_message = 300;
// Names may consist of blanks. Line ends stay as they are.
constexpr unsigned k_parse_options = (pugi::parse_default | pugi::parse_ws_pcdata_single) & ~pugi::parse_eol;

[[noreturn]] void fail(std::string_view problem) {
  throw Error(ErrorCode::damaged, fmt::format("the listing of the S3 server {}", problem),
              {.hint = "check that the endpoint is an S3 server"});
}

std::uint64_t parse_size(std::string_view text) {
  std::uint64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc{} || stopped != end) fail("has an object without a size");
  return size;
}

/// Not every server encodes: the answer says whether it does. Of those that do, most write a space as '+', like a form.
std::string decode_name(const char* text, bool is_encoded) {
  if (!is_encoded) return text;
  std::optional<std::string> name = percent_decode(text, true);
  if (!name) fail("has a name with a bad percent-encoding");
  return *std::move(name);
}

/// Some servers write the ETag of a listing without the quotes that the header has.
std::string quoted_etag(std::string etag) {
  if (etag.empty() || etag.ends_with('"')) return etag;
  return "\"" + etag + "\"";
}

}  // namespace

S3Listing parse_object_listing(Bytes xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(xml.data(), xml.size(), k_parse_options, pugi::encoding_utf8);
  if (!result) fail(fmt::format("is not XML from byte {} on: {}", result.offset, result.description()));
  // The parser would end a text at a NUL, which XML cannot hold.
  if (std::memchr(xml.data(), 0, xml.size()) != nullptr) fail("has a NUL byte");
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) fail("is other XML");
  const bool is_encoded = std::string_view(root.child_value("EncodingType")) == "url";
  S3Listing listing;
  for (const pugi::xml_node node : root.children("Contents")) {
    S3Object object{.key = decode_name(node.child_value("Key"), is_encoded),
                    .size = parse_size(node.child_value("Size")),
                    .etag = quoted_etag(node.child_value("ETag"))};
    if (object.key.empty()) fail("has an object without a key");
    listing.objects.push_back(std::move(object));
  }
  for (const pugi::xml_node node : root.children("CommonPrefixes")) {
    listing.common_prefixes.push_back(decode_name(node.child_value("Prefix"), is_encoded));
    if (listing.common_prefixes.back().empty()) fail("has an empty prefix");
  }
  const std::string_view truncated = root.child_value("IsTruncated");
  if (truncated != "true" && truncated != "false") fail("does not say whether it is complete");
  if (truncated == "true") {
    listing.continuation_token = root.child_value("NextContinuationToken");
    if (listing.continuation_token.empty()) fail("is incomplete and has no continuation token");
  }
  return listing;
}

S3ErrorAnswer parse_s3_error(Bytes body) {
  pugi::xml_document document;
  document.load_buffer(body.data(), body.size());
  const pugi::xml_node error = document.child("Error");
  return {.code = excerpt(printable(error.child_value("Code")), k_shown_code),
          .message = excerpt(printable(error.child_value("Message")), k_shown_message),
          .region = excerpt(printable(error.child_value("Region")), k_shown_code)};
}

}  // namespace bale

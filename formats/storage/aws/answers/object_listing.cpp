#include "bale/formats/storage/aws/answers/object_listing.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include <pugixml.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/storage/aws/answers/xml_answer.hpp"

namespace bale {
namespace {

constexpr std::size_t k_shown_code = 64;
constexpr std::size_t k_shown_message = 300;

std::uint64_t parse_size(std::string_view text, const XmlAnswer& answer) {
  std::uint64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc{} || stopped != end) answer.fail("has an object without a size");
  return size;
}

/// Some servers write the ETag of a listing without the quotes that the header has.
std::string quoted_etag(std::string etag) {
  if (etag.empty() || etag.ends_with('"')) return etag;
  return "\"" + etag + "\"";
}

}  // namespace

S3Listing parse_object_listing(Bytes xml) {
  const XmlAnswer answer(xml, "the listing of the S3 server");
  const pugi::xml_node root = answer.root();
  if (std::string_view(root.name()) != "ListBucketResult") answer.fail("is other XML");
  S3Listing listing;
  for (const pugi::xml_node node : root.children("Contents")) {
    S3Object object{.key = answer.name(node.child_value("Key")),
                    .size = parse_size(node.child_value("Size"), answer),
                    .etag = quoted_etag(node.child_value("ETag"))};
    if (object.key.empty()) answer.fail("has an object without a key");
    listing.objects.push_back(std::move(object));
  }
  for (const pugi::xml_node node : root.children("CommonPrefixes")) {
    listing.common_prefixes.push_back(answer.name(node.child_value("Prefix")));
    if (listing.common_prefixes.back().empty()) answer.fail("has an empty prefix");
  }
  const std::string_view truncated = root.child_value("IsTruncated");
  if (truncated != "true" && truncated != "false") answer.fail("does not say whether it is complete");
  if (truncated == "true") {
    listing.continuation_token = root.child_value("NextContinuationToken");
    if (listing.continuation_token.empty()) answer.fail("is incomplete and has no continuation token");
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

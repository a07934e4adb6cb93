// Answers of an S3 server: they are understood whole or refused, and nothing in them ends up in a name or a message
// that a terminal or the next request would take for something else.
#include <cstdlib>
#include <string_view>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/aws/answers/s3_answers.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

using bale::test::keep;

template <typename Parse>
void parse_or_refuse(Parse parse) {
  try {
    parse();
  } catch (const bale::Error& error) {
    if (error.code() != bale::ErrorCode::damaged) std::abort();
  }
}

void require_no_nul(std::string_view text) {
  if (text.find('\0') != text.npos) std::abort();
  keep(text.size());
}

void require_printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::Bytes xml = bale::test::input_bytes(data, size);
  parse_or_refuse([&] { require_no_nul(bale::parse_upload_id(xml)); });
  parse_or_refuse([&] {
    const bale::UploadListing listing = bale::parse_upload_listing(xml);
    for (const auto& upload : listing.uploads) {
      require_no_nul(upload.key);
      require_no_nul(upload.id);
    }
  });
  parse_or_refuse([&] {
    const bale::S3Listing listing = bale::parse_object_listing(xml);
    for (const auto& object : listing.objects) {
      require_no_nul(object.key);
      keep(object.size);
    }
    for (const auto& prefix : listing.common_prefixes) require_no_nul(prefix);
  });
  const bale::S3ErrorAnswer answer = bale::parse_s3_error(xml);
  require_printable(answer.code);
  require_printable(answer.message);
  require_printable(answer.region);
  return 0;
}

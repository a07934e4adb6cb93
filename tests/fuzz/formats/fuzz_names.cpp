// Whatever the bytes of a name, an encoded key splits back whole, and what is shown on a terminal is printable.
#include <cstdlib>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/shard/sample/key.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string name(reinterpret_cast<const char*>(data), size);
  for (const char c : bale::printable(name)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) std::abort();
  }
  if (bale::parse_json(bale::bytes_to_json(name).dump()).as_bytes("name") != name) std::abort();
  if (const auto parts = bale::split_member_name(name)) {
    if (std::string(parts->key) + '.' + std::string(parts->extension) != name) std::abort();
  }
  if (name.empty() || name.ends_with('/')) return 0;  // no file is called so
  const std::string member = bale::encode_key(name) + ".jpg";
  if (bale::decode_key(bale::encode_key(name)) != name) std::abort();
  if (!bale::names_a_file(bale::encode_key(name))) std::abort();
  const auto parts = bale::split_member_name(member);
  if (!parts || parts->extension != "jpg" || bale::is_reserved_member(member)) std::abort();
  return 0;
}

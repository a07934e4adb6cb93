// Checksums: CRC32C per field (RFC 3720, polynomial 0x1EDC6F41), XXH3-128 per shard file.
//
// CRC32C finds every single-bit flip and every burst up to 32 bits in a field; XXH3-128 finds damage
// anywhere in a shard, container structure and padding included. Neither is a defence against forgery.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bale/formats/core/bytes.hpp"

namespace bale {

/// CRC32C of `bytes`; pass the result of the previous part as `crc` to go on. Hardware-accelerated.
std::uint32_t crc32c(Bytes bytes, std::uint32_t crc = 0);

/// XXH3-64 of a key: for hash tables and sorting, never for integrity.
std::uint64_t hash_key(std::string_view key);

/// XXH3-128 in its canonical (big-endian) form.
using Digest = std::array<std::uint8_t, 16>;

/// "xxh3:" + 32 lower-case hexadecimal digits, as the manifest spells it.
std::string digest_text(const Digest& digest);

/// Streaming XXH3-128. One thread at a time.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(DigestStream&&) noexcept;
  DigestStream& operator=(DigestStream&&) noexcept;

  void update(Bytes bytes);
  Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-128 of a whole file, read from its start. Throws `io`.
Digest digest_file(const std::string& path);

/// XXH3-128 of a file's first and last 64 KiB (of all of it if it has up to 128 KiB): tells most other files from this
/// one at the cost of two reads. Throws `io`.
Digest digest_file_ends(const std::string& path);

}  // namespace bale

// Checksums: one CRC32C per field (RFC 3720, polynomial 0x1EDC6F41), one XXH3-128 per shard file.
//
// CRC32C detects every single-bit flip and every burst of up to 32 bits in a field. XXH3-128 detects damage anywhere in
// a shard, including container structure and padding. Neither protects against forgery.
//
// Threads: the functions may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// CRC32C of `bytes`. To continue over several parts, pass the result of the previous part as `crc`.
/// Hardware-accelerated (ISA-L).
std::uint32_t crc32c(Bytes bytes, std::uint32_t crc = 0);

/// XXH3-64 of a key, for hash tables and sorting. Not an integrity check.
std::uint64_t hash_key(std::string_view key);

/// XXH3-128 in its canonical (big-endian) form.
using Digest = std::array<std::uint8_t, 16>;

/// "xxh3:" and 32 lower-case hexadecimal digits, as in the manifest.
std::string digest_text(const Digest& digest);

/// Streaming XXH3-128. Used by one thread at a time.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(DigestStream&&) noexcept;
  DigestStream& operator=(DigestStream&&) noexcept;

  void update(Bytes bytes);
  /// The digest of all bytes so far. More may be added afterwards.
  Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-128 of a whole file. Throws what File::open_read() throws, and `io`.
Digest digest_file(const std::string& path);

/// XXH3-128 of a file's first and last 64 KiB, or of the whole file if it has at most 128 KiB. It distinguishes this
/// file from most others at the cost of two reads. Throws what File::open_read() throws, and `io`.
Digest digest_file_ends(const std::string& path);

}  // namespace bale

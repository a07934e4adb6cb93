#include "bale/formats/base/checksum.hpp"

#include <isa-l/crc.h>
#include <xxhash.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"

namespace bale {

std::uint32_t crc32c(Bytes bytes, std::uint32_t crc) {
  // isa-l's crc32_iscsi neither inverts its seed nor its result, and takes an int length.
  std::uint32_t state = ~crc;
  while (!bytes.empty()) {
    const std::size_t part = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    auto* data = const_cast<unsigned char*>(as_uchar(bytes));  // isa-l only reads it, despite the signature
    state = crc32_iscsi(data, static_cast<int>(part), state);
    bytes = bytes.subspan(part);
  }
  return ~state;
}

std::uint64_t hash_key(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

std::string digest_text(const Digest& digest) {
  std::string text = "xxh3:";
  constexpr std::string_view k_digits = "0123456789abcdef";
  text.reserve(text.size() + 2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += k_digits[byte >> 4];
    text += k_digits[byte & 15];
  }
  return text;
}

struct DigestStream::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() { XXH3_128bits_reset(xxh); }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

DigestStream::DigestStream() : state_(std::make_unique<State>()) {}
DigestStream::~DigestStream() = default;
DigestStream::DigestStream(DigestStream&&) noexcept = default;
DigestStream& DigestStream::operator=(DigestStream&&) noexcept = default;

void DigestStream::update(Bytes bytes) { XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size()); }

Digest DigestStream::digest() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->xxh));
  Digest out{};
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), out.begin());
  return out;
}

Digest digest_file(const std::string& path) {
  const File file = File::open_read(path);
  file.advise_sequential();
  std::vector<std::byte> buffer(std::size_t{256} << 10);
  DigestStream stream;
  for (std::uint64_t at = 0;;) {
    const std::size_t got = file.read_some(at, buffer);
    if (got == 0) return stream.digest();
    stream.update(Bytes(buffer).first(got));
    at += got;
  }
}

Digest digest_file_ends(const std::string& path) {
  constexpr std::uint64_t k_end_bytes = std::uint64_t{64} << 10;
  const File file = File::open_read(path);
  const std::uint64_t size = file.size();
  DigestStream stream;
  std::vector<std::byte> buffer(std::min(size, k_end_bytes));
  file.read_exact(0, buffer);
  stream.update(buffer);
  if (size > k_end_bytes) {
    const std::uint64_t begin = std::max(size - k_end_bytes, k_end_bytes);
    buffer.resize(size - begin);
    file.read_exact(begin, buffer);
    stream.update(buffer);
  }
  return stream.digest();
}

}  // namespace bale

#include "bale/formats/storage/ranges/known_versions.hpp"

#include <functional>

#include <fmt/format.h>

namespace bale {
namespace {

std::uint64_t hash_of(const std::string& text) { return std::hash<std::string>{}(text); }

std::uint64_t fingerprint_of(const FileVersion& version) {
  return hash_of(fmt::format("{}\n{}", version.etag, version.size));
}

}  // namespace

std::optional<FileVersion> KnownVersions::find(const std::string& identity) const {
  const auto found = versions_.find(identity);
  return found == versions_.end() ? std::nullopt : std::optional(found->second);
}

bool KnownVersions::keep(const std::string& identity, const FileVersion& version) {
  if (const auto found = versions_.find(identity); found != versions_.end()) return found->second == version;
  const auto fingerprint = fingerprints_.find(hash_of(identity));
  if (fingerprint != fingerprints_.end() && fingerprint->second != fingerprint_of(version)) return false;
  versions_.emplace(identity, version);
  if (version.etag.empty()) return true;
  order_.push_back(identity);
  if (order_.size() > max_versions_) forget_oldest();
  return true;
}

bool KnownVersions::was_kept(const std::string& identity, const FileVersion& version) const {
  const auto fingerprint = fingerprints_.find(hash_of(identity));
  return !version.etag.empty() && fingerprint != fingerprints_.end() && fingerprint->second == fingerprint_of(version);
}

void KnownVersions::forget(const std::string& identity) {
  const std::uint64_t hash = hash_of(identity);
  if (versions_.erase(identity) > 0) std::erase(order_, identity);
  if (fingerprints_.erase(hash) > 0) std::erase(fingerprint_order_, hash);
}

/// Reduces the oldest version to its fingerprint.
void KnownVersions::forget_oldest() {
  const auto oldest = versions_.find(order_.front());
  order_.pop_front();
  const std::uint64_t hash = hash_of(oldest->first);
  if (fingerprints_.insert_or_assign(hash, fingerprint_of(oldest->second)).second) fingerprint_order_.push_back(hash);
  versions_.erase(oldest);
  if (fingerprint_order_.size() <= max_fingerprints_) return;
  fingerprints_.erase(fingerprint_order_.front());
  fingerprint_order_.pop_front();
}

}  // namespace bale

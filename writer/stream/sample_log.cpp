#include "bale/writer/stream/sample_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

constexpr char k_log_magic[8] = {'B', 'A', 'L', 'E', 'S', 'P', 'L', '1'};

struct FileHead {
  char magic[8];
  std::uint64_t shard;
  std::uint64_t first;
  std::uint32_t crc32c;  // of the members before
  std::uint32_t unused;
};

/// Followed by `num_fields` FieldHead, the key, the names and the fields.
struct RecordHead {
  std::uint32_t crc32c;      // of everything after it
  std::uint32_t head_bytes;  // up to the fields
  std::uint64_t body_bytes;  // of the fields
  std::int64_t label;
  std::uint32_t key_bytes;
  std::uint32_t num_fields;
};

struct FieldHead {
  std::uint32_t name_bytes;
  std::uint32_t bytes;
};

FileHead head_of(std::uint64_t shard, std::uint64_t first) {
  FileHead head{.magic = {}, .shard = shard, .first = first, .crc32c = 0, .unused = 0};
  std::memcpy(head.magic, k_log_magic, sizeof k_log_magic);
  head.crc32c = crc32c(std::as_bytes(std::span(&head, 1)).first(offsetof(FileHead, crc32c)));
  return head;
}

/// Copies `bytes` to the front of `out` and drops that part of `out`.
void put(MutableBytes& out, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  out = out.subspan(bytes.size());
}

/// Sets the checksum of each of the records, which follow each other.
void set_checksums(MutableBytes records) {
  while (!records.empty()) {
    const auto head = load_at<RecordHead>(records.data());
    const MutableBytes record = records.first(head.head_bytes + head.body_bytes);
    const std::uint32_t crc = crc32c(Bytes(record).subspan(sizeof head.crc32c));
    std::memcpy(record.data() + offsetof(RecordHead, crc32c), &crc, sizeof crc);
    records = records.subspan(record.size());
  }
}

template <typename Value>
void put_value(MutableBytes& out, const Value& value) {
  put(out, std::as_bytes(std::span(&value, 1)));
}

}  // namespace

std::uint32_t SampleLog::name_id(std::string_view name) {
  const auto at = std::find(names_.begin(), names_.end(), name) - names_.begin();
  if (at == std::ssize(names_)) names_.emplace_back(name);
  return static_cast<std::uint32_t>(at);
}

MutableBytes SampleLog::place(std::size_t bytes) {
  if (chunks_.empty() || chunks_.back().capacity - chunks_.back().used < bytes) {
    Chunk chunk{
        .offset = end_, .memory = nullptr, .used = 0, .capacity = std::max(bytes, SampleBuffers::k_chunk_bytes)};
    chunk.memory = chunk.capacity == SampleBuffers::k_chunk_bytes ? pool_->take()
                                                                  : std::make_unique_for_overwrite<std::byte[]>(bytes);
    memory_bytes_ += chunk.capacity;
    chunks_.push_back(std::move(chunk));
  }
  Chunk& chunk = chunks_.back();
  return {chunk.memory.get() + chunk.used, bytes};
}

void SampleLog::add_row(std::string_view key, std::int64_t label, std::uint64_t offset, std::uint32_t head_bytes) {
  rows_.push_back({.offset = offset,
                   .body_bytes = 0,
                   .key_begin = keys_.size(),
                   .label = label,
                   .field_begin = fields_.size(),
                   .head_bytes = head_bytes,
                   .key_bytes = static_cast<std::uint32_t>(key.size()),
                   .num_fields = 0});
  keys_ += key;
}

void SampleLog::add_field(std::string_view name, std::uint32_t bytes) {
  fields_.push_back({.name = name_id(name), .bytes = bytes});
  rows_.back().num_fields += 1;
  rows_.back().body_bytes += bytes;
  payload_bytes_ += bytes;
}

void SampleLog::add(std::string_view key, std::int64_t label, std::span<const FieldView> fields) {
  std::size_t head_bytes = sizeof(RecordHead) + fields.size() * sizeof(FieldHead) + key.size();
  std::size_t body_bytes = 0;
  for (const FieldView& field : fields) {
    head_bytes += field.name.size();
    body_bytes += field.bytes.size();
  }
  if (end_ == 0) end_ = sizeof(FileHead);
  const MutableBytes record = place(head_bytes + body_bytes);
  const RecordHead head{.crc32c = 0,  // spill() sets it
                        .head_bytes = static_cast<std::uint32_t>(head_bytes),
                        .body_bytes = body_bytes,
                        .label = label,
                        .key_bytes = static_cast<std::uint32_t>(key.size()),
                        .num_fields = static_cast<std::uint32_t>(fields.size())};
  MutableBytes out = record;
  put_value(out, head);
  for (const FieldView& field : fields) {
    put_value(out,
              FieldHead{static_cast<std::uint32_t>(field.name.size()), static_cast<std::uint32_t>(field.bytes.size())});
  }
  put(out, bale::as_bytes(key));
  for (const FieldView& field : fields) put(out, bale::as_bytes(field.name));
  for (const FieldView& field : fields) put(out, field.bytes);

  add_row(key, label, end_, head.head_bytes);
  for (const FieldView& field : fields) add_field(field.name, static_cast<std::uint32_t>(field.bytes.size()));
  chunks_.back().used += record.size();
  end_ += record.size();
}

void SampleLog::free_memory() noexcept {
  for (Chunk& chunk : chunks_) {
    if (chunk.capacity == SampleBuffers::k_chunk_bytes) pool_->give_back(std::move(chunk.memory));
  }
  chunks_.clear();
  memory_bytes_ = 0;
}

void SampleLog::spill() {
  if (rows_.empty()) return;
  if (!file_.is_open()) {
    File file = File::create(path_);
    const FileHead head = head_of(shard_, first_);
    file.write_at(0, std::as_bytes(std::span(&head, 1)));
    spilled_end_ = sizeof head;
    file_ = std::move(file);
  }
  std::vector<Bytes> parts;
  for (const Chunk& chunk : chunks_) {
    set_checksums({chunk.memory.get(), chunk.used});
    parts.emplace_back(chunk.memory.get(), chunk.used);
  }
  file_.write_all_at(spilled_end_, parts);
  spilled_end_ = end_;
  free_memory();
}

void SampleLog::sync() {
  if (rows_.empty()) return;
  spill();
  file_.sync();
  sync_directory(parent_directory(path_));
}

void SampleLog::remove() noexcept {
  if (!file_.is_open()) return;
  file_ = File();
  ::unlink(path_.c_str());
}

std::string_view SampleLog::key(std::uint64_t i) const {
  return std::string_view(keys_).substr(rows_[i].key_begin, rows_[i].key_bytes);
}

std::span<const SampleLog::Field> SampleLog::fields(std::uint64_t i) const {
  return std::span(fields_).subspan(rows_[i].field_begin, rows_[i].num_fields);
}

Bytes SampleLog::read(std::uint64_t i, Scratch& scratch) const {
  const Row& row = rows_[i];
  const std::size_t record_bytes = row.head_bytes + row.body_bytes;
  if (row.offset >= spilled_end_) {
    const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), row.offset,
                                        [](std::uint64_t offset, const Chunk& chunk) { return offset < chunk.offset; });
    const Chunk& chunk = *std::prev(after);
    return Bytes(chunk.memory.get() + (row.offset - chunk.offset), record_bytes).subspan(row.head_bytes);
  }
  const MutableBytes record = scratch.bytes(record_bytes);
  file_.read_exact(row.offset, record);
  if (load_at<std::uint32_t>(record.data()) != crc32c(Bytes(record).subspan(sizeof(std::uint32_t)))) {
    throw Error(ErrorCode::damaged, "a waiting sample is not what was written",
                {.path = path_, .key = std::string(key(i)), .offset = row.offset, .hint = "check the disk"});
  }
  return Bytes(record).subspan(row.head_bytes);
}

/// Returns the end of the record, or 0 if it is incomplete.
std::uint64_t SampleLog::recover_record(std::uint64_t offset, std::uint64_t file_bytes,
                                        std::vector<std::byte>& buffer) {
  if (file_bytes - offset < sizeof(RecordHead)) return 0;
  buffer.resize(sizeof(RecordHead));
  file_.read_exact(offset, buffer);
  const auto head = load_at<RecordHead>(buffer.data());
  const std::uint64_t left = file_bytes - offset;
  if (head.head_bytes < sizeof head || head.head_bytes > left || head.body_bytes > left - head.head_bytes) return 0;
  buffer.resize(head.head_bytes + head.body_bytes);
  file_.read_exact(offset, buffer);
  if (crc32c(Bytes(buffer).subspan(sizeof head.crc32c)) != head.crc32c) return 0;
  Bytes rest = Bytes(buffer).subspan(sizeof head);
  if (head.num_fields > rest.size() / sizeof(FieldHead)) return 0;
  const Bytes sizes = rest.first(head.num_fields * sizeof(FieldHead));
  rest = rest.subspan(sizes.size());
  std::uint64_t names_bytes = 0;
  std::uint64_t body_bytes = 0;
  for (std::uint32_t f = 0; f < head.num_fields; ++f) {
    const auto field = load_at<FieldHead>(sizes.data() + f * sizeof(FieldHead));
    names_bytes += field.name_bytes;
    body_bytes += field.bytes;
  }
  const std::uint64_t head_bytes = sizeof head + sizes.size() + head.key_bytes + names_bytes;
  if (head_bytes != head.head_bytes || body_bytes != head.body_bytes) return 0;
  add_row(as_text(rest.first(head.key_bytes)), head.label, offset, head.head_bytes);
  rest = rest.subspan(head.key_bytes);
  for (std::uint32_t f = 0; f < head.num_fields; ++f) {
    const auto field = load_at<FieldHead>(sizes.data() + f * sizeof(FieldHead));
    add_field(as_text(rest.first(field.name_bytes)), field.bytes);
    rest = rest.subspan(field.name_bytes);
  }
  return offset + buffer.size();
}

bool SampleLog::recover() {
  try {
    file_ = File::open_update(path_);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return false;
    throw;
  }
  const std::uint64_t file_bytes = file_.size();
  FileHead head{};
  const FileHead expected = head_of(shard_, first_);
  if (file_bytes >= sizeof head) file_.read_exact(0, std::as_writable_bytes(std::span(&head, 1)));
  if (std::memcmp(&head, &expected, sizeof head) != 0) {
    file_ = File();
    return false;
  }
  std::vector<std::byte> buffer;
  end_ = sizeof head;
  for (std::uint64_t end = end_; end != 0; end = recover_record(end_, file_bytes, buffer)) end_ = end;
  spilled_end_ = end_;
  if (file_bytes != end_) file_.truncate(end_);
  return true;
}

namespace {

const FieldView* image_of(const SampleView& sample) {
  const auto found = std::find_if(sample.fields.begin(), sample.fields.end(),
                                  [](const FieldView& field) { return is_image_field(field.name); });
  return found == sample.fields.end() ? nullptr : &*found;
}

/// Whether probe_image() knows what the bytes are. Most are JPEGs, which two bytes tell.
bool is_image(Bytes bytes) {
  return as_text(bytes).starts_with("\xFF\xD8") || probe_image(bytes).kind != ImageKind::unknown;
}

}  // namespace

std::string name_of_sample(std::uint64_t number, std::string_view key) {
  return fmt::format("sample {} \"{}\"", number, printable(key));
}

std::string why_image_is_refused(const SampleView& sample) {
  const FieldView* const image = image_of(sample);
  if (image == nullptr || is_image(image->bytes)) return {};
  const std::string_view kind = name_by_signature(image->bytes);
  const std::string what = image->bytes.empty() ? "empty"
                           : kind.empty()       ? "not an image: no known signature"
                                          : fmt::format("not an image that bale packs: {} by its signature", kind);
  return fmt::format("field {}: {}", printable(image->name), what);
}

LoggedSource::LoggedSource(const SampleLog& pending, std::vector<std::string> fields,
                           const std::vector<std::string>& classes)
    : pending_(pending), fields_(std::move(fields)), classes_(classes) {
  for (const std::string& name : pending_.names()) {
    ids_.push_back(static_cast<std::uint32_t>(std::find(fields_.begin(), fields_.end(), name) - fields_.begin()));
  }
}

void LoggedSource::describe(std::uint64_t i, SourceSample& out) const {
  out.key = pending_.key(i);
  out.label = pending_.label(i);
  out.fields.clear();
  for (const SampleLog::Field& field : pending_.fields(i)) out.fields.push_back({ids_[field.name], field.bytes});
  std::sort(out.fields.begin(), out.fields.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

SampleView LoggedSource::read(std::uint64_t i, Scratch& scratch) const {
  Bytes rest = pending_.read(i, scratch);
  std::vector<FieldView>& views = scratch.fields();
  views.clear();
  for (const SampleLog::Field& field : pending_.fields(i)) {
    views.push_back({pending_.names()[field.name], rest.first(field.bytes)});
    rest = rest.subspan(field.bytes);
  }
  SampleView sample{.key = pending_.key(i), .label = pending_.label(i), .fields = views};
  const std::string why = why_image_is_refused(sample);
  if (!why.empty()) throw Error(ErrorCode::damaged, why, {.path = origin(i)});
  if (const FieldView* const image = image_of(sample)) {
    const ImageHeader header = probe_image(image->bytes);
    sample.width = header.width;
    sample.height = header.height;
  }
  return sample;
}

std::string LoggedSource::origin(std::uint64_t i) const {
  return name_of_sample(pending_.first() + i, pending_.key(i));
}

}  // namespace bale

// Saved sources whose samples are files.
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/writer/source/rows/file_rows.hpp"
#include "bale/writer/source/rows/file_source.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace bale {
namespace {

/// Reads files of saved rows into a FileRows, each directory once.
class SavedFileReader {
 public:
  /// `rows` must outlive this object.
  explicit SavedFileReader(FileRows& rows) : rows_(rows) {}

  /// Adds the file as a sample.
  FileRow& add_sample(RowReader& in);
  /// Adds the file as the next companion of the sample added last.
  void add_companion(RowReader& in);

 private:
  struct Name {
    std::uint32_t directory;
    std::string_view name;
  };
  Name read_name(RowReader& in);
  static void read_state(RowReader& in, FileRow& row);

  FileRows& rows_;
  std::unordered_map<std::string, std::uint32_t> directories_;  // by path and start of the key
};

/// The `json` field of a sample, or why it cannot be had.
struct Extra {
  std::uint64_t bytes = 0;  // as the source described it
  std::string text{};
  std::optional<Error> error{};
};

class SavedFileSource : public FileSource {
 public:
  SavedFileSource(FileListing listing, Saved saved, std::vector<Extra> extras)
      : FileSource(std::move(listing), saved), extras_(std::move(extras)) {}

 protected:
  std::uint64_t extra_bytes(std::uint64_t i, std::size_t) const override { return extras_[i].bytes; }
  void append_extra(std::uint64_t i, std::size_t, const SampleView&, std::string& out) const override {
    if (extras_[i].error) throw Error(*extras_[i].error);
    out += extras_[i].text;
  }

 private:
  std::vector<Extra> extras_;
};

Extra read_extra(RowReader& in) {
  Extra extra{.bytes = in.number()};
  if (in.number() == 0) {
    extra.text = in.text();
    return extra;
  }
  const std::uint64_t code = in.number();
  if (code > static_cast<std::uint64_t>(ErrorCode::interrupted)) RowReader::refuse();
  const std::string message(in.text());
  ErrorContext context;
  context.path = in.text();
  context.key = in.text();
  context.hint = in.text();
  context.system_error = static_cast<int>(in.number());
  extra.error.emplace(static_cast<ErrorCode>(code), message, std::move(context));
  return extra;
}

class SavedFileRows : public SavedRows {
 public:
  SavedFileRows(const FileListing& head, FileSource::Saved saved) : saved_(saved), reader_(listing_.rows) {
    listing_.image_fields = head.image_fields;
    listing_.companion_fields = head.companion_fields;
    listing_.companion_is_distant = head.companion_is_distant;
    listing_.classes = head.classes;
    listing_.places = head.places;
    listing_.rows.keep_extensions(head.rows.keeps_extensions());
  }

  void add(std::string_view row) override {
    RowReader in(row);
    FileRow& sample = reader_.add_sample(in);
    sample.label = in.integer();
    const std::uint64_t field = in.number();
    if (field >= listing_.image_fields.size()) RowReader::refuse();
    sample.field = static_cast<std::uint16_t>(field);
    for (std::size_t which = 0; which < listing_.companion_fields.size(); ++which) {
      if (in.number() == 0) {
        listing_.rows.add_missing_companion();
      } else {
        reader_.add_companion(in);
      }
    }
    if (saved_.has_extra) extras_.push_back(read_extra(in));
    if (!in.at_end()) RowReader::refuse();
  }

  std::unique_ptr<Source> finish() override {
    return std::make_unique<SavedFileSource>(std::move(listing_), saved_, std::move(extras_));
  }

 private:
  FileSource::Saved saved_;
  FileListing listing_;
  SavedFileReader reader_;
  std::vector<Extra> extras_;
};

class SavedFiles : public SavedSource {
 public:
  explicit SavedFiles(const Json& json) {
    head_.image_fields = json.bytes_list("image_fields");
    head_.companion_fields = json.bytes_list("companion_fields");
    for (const Json& is_distant : json.list("companion_is_distant")) {
      head_.companion_is_distant.push_back(is_distant.as_truth("companion_is_distant"));
    }
    head_.classes = json.bytes_list("classes");
    head_.places = json.bytes_list("places");
    head_.rows.keep_extensions(json.contains("keeps_extensions") && json.truth("keeps_extensions"));
    saved_ = {.has_extra = json.truth("has_extra"), .has_labels = json.truth("has_labels")};
    const std::size_t most = FileSource::k_max_files - 1;
    if (head_.companion_fields.size() > most || head_.companion_is_distant.size() != head_.companion_fields.size()) {
      throw Error(ErrorCode::damaged, "the plan does not describe its source");
    }
  }
  std::unique_ptr<SavedRows> begin_rows() const override { return std::make_unique<SavedFileRows>(head_, saved_); }

 private:
  FileListing head_;  // without rows
  FileSource::Saved saved_;
};

/// Writes directory, name, size and time of a file.
void save_file(const FileRows& rows, const FileRow& row, RowWriter& out) {
  const std::string_view directory = rows.directory(row.directory);
  out.text(directory);
  out.number(directory.size() - rows.key_directory(row.directory).size());
  out.text(rows.name(row));
  out.number(row.bytes);
  out.integer(row.mtime_ns);
}

}  // namespace

SavedFileReader::Name SavedFileReader::read_name(RowReader& in) {
  const std::string_view directory = in.text();
  const std::uint64_t key_start = in.number();
  if (key_start > directory.size()) RowReader::refuse();
  std::string known(directory);
  known += '\0';
  known += std::to_string(key_start);
  auto found = directories_.find(known);
  if (found == directories_.end()) {
    found = directories_.emplace(std::move(known), rows_.add_directory(directory, key_start)).first;
  }
  return {found->second, in.text()};
}

void SavedFileReader::read_state(RowReader& in, FileRow& row) {
  row.bytes = in.number();
  row.mtime_ns = in.integer();
}

FileRow& SavedFileReader::add_sample(RowReader& in) {
  const Name name = read_name(in);
  FileRow& row = rows_.add_sample(name.directory, name.name);
  read_state(in, row);
  return row;
}

void SavedFileReader::add_companion(RowReader& in) {
  const Name name = read_name(in);
  rows_.add_companion(name.directory, name.name);
  read_state(in, rows_.companions().back());
}

std::string FileSource::save_head() const {
  Json head{{"kind", k_saved_files},
            {"image_fields", bytes_list_to_json(listing_.image_fields)},
            {"companion_fields", bytes_list_to_json(listing_.companion_fields)},
            {"companion_is_distant", Json::list_of(listing_.companion_is_distant)},
            {"classes", bytes_list_to_json(listing_.classes)},
            {"places", bytes_list_to_json(listing_.places)},
            {"keeps_extensions", listing_.rows.keeps_extensions()},
            {"has_extra", num_extra_ > 0},
            {"has_labels", has_labels_}};
  return head.dump({.sorted = true});
}

void FileSource::save(std::uint64_t i, std::string& out) const {
  RowWriter writer(out);
  save_file(listing_.rows, row(i), writer);
  writer.integer(row(i).label);
  writer.number(row(i).field);
  for (std::size_t which = 0; which < num_companions(); ++which) {
    const FileRow* beside = companion(i, which);
    writer.number(beside == nullptr ? 0 : 1);
    if (beside != nullptr) save_file(listing_.rows, *beside, writer);
  }
  if (num_extra_ == 0) return;
  writer.number(extra_bytes(i, 0));
  std::string text;
  try {
    append_extra(i, 0, {}, text);
    writer.number(0);
    writer.text(text);
  } catch (const Error& error) {
    if (is_lack_of_resources(error) || error.code() == ErrorCode::changed) throw;
    writer.number(1);  // a bad sample: packing it will report this
    writer.number(static_cast<std::uint64_t>(error.code()));
    writer.text(error.message());
    writer.text(error.context().path);
    writer.text(error.context().key);
    writer.text(error.context().hint);
    writer.number(static_cast<std::uint64_t>(error.context().system_error));
  }
}

std::unique_ptr<SavedSource> open_saved_files(const Json& head) { return std::make_unique<SavedFiles>(head); }

}  // namespace bale

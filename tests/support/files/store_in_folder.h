// A stand-in for an object store: s3://BUCKET/PATH is the local file /PATH, in the state that it
// had when it was found.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/posix/fd.h"
#include "server/source/files/read_exactly.h"
#include "server/source/files/remote_file.h"

namespace penstock::testing {

class FileInFolder final : public source::RemoteFile {
 public:
  FileInFolder(std::string url, std::string local, const source::FileState& state)
      : url_(std::move(url)), local_(std::move(local)), state_(state) {}

  std::string path() const override { return url_; }
  source::FileState state() const override { return state_; }
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    ++reads;
    const posix::Fd file(::open(local_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return absl::UnavailableError(absl::StrCat("'", url_, "' is not there"));
    struct stat stat {};
    if (::fstat(file.get(), &stat) != 0 || source::ToFileState(stat) != state_)
      return source::Changed(url_, "it is another version");
    return source::ReadExactly(file, url_, offset, into);
  }
  absl::Status ReadPiece(const source::RemotePiece& piece, uint64_t from,
                         std::span<std::byte> into) const override {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(piece);
    return Read(piece.offset + from, into);
  }
  void Expect(const source::RemotePiece& piece, const source::UseTimes&) const override {
    const std::lock_guard lock(mutex_);
    expected_.push_back(piece);
  }
  std::string version() const override { return absl::StrCat(absl::Hex(source::StampOf(state_))); }
  absl::StatusOr<std::optional<std::string>> ReadBeside(absl::string_view suffix,
                                                        const TakeMemory& take) const override {
    ++beside_reads;
    std::ifstream file(absl::StrCat(local_, suffix), std::ios::binary);
    if (!file) return std::nullopt;
    std::string bytes(std::filesystem::file_size(absl::StrCat(local_, suffix)), '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    PENSTOCK_RETURN_IF_ERROR(take(bytes.size()));
    return bytes;
  }
  void NoteIndexFile(source::IndexFileUse use) const override {
    const std::lock_guard lock(mutex_);
    index_uses.push_back(use);
  }
  mutable std::atomic<int> reads = 0, beside_reads = 0;
  mutable std::vector<source::IndexFileUse> index_uses;

  std::vector<source::RemotePiece> pieces() const {
    const std::lock_guard lock(mutex_);
    return pieces_;
  }
  std::vector<source::RemotePiece> expected() const {
    const std::lock_guard lock(mutex_);
    return expected_;
  }

 private:
  const std::string url_, local_;
  const source::FileState state_;
  mutable std::mutex mutex_;
  mutable std::vector<source::RemotePiece> pieces_;    // that were read
  mutable std::vector<source::RemotePiece> expected_;  // that will be
};

class StoreInFolder : public source::RemoteFiles {
 public:
  static std::string UrlOf(const std::string& path) { return "s3://bucket" + path; }

  absl::StatusOr<Found> Find(std::span<const std::string> urls) override {
    Found found;
    for (const std::string& url : urls) {
      const std::string local = LocalOf(url);
      struct stat stat {};
      if (::stat(local.c_str(), &stat) != 0)
        return absl::NotFoundError(absl::StrCat("'", url, "' is not there"));
      files.push_back(std::make_shared<FileInFolder>(url, local, source::ToFileState(stat)));
      found.push_back(files.back());
    }
    return found;
  }
  absl::StatusOr<Found> List(const std::string& folder, absl::string_view suffix) override {
    std::vector<std::string> urls;
    for (const auto& entry : std::filesystem::directory_iterator(LocalOf(folder)))
      if (absl::EndsWith(entry.path().string(), suffix)) urls.push_back(UrlOf(entry.path()));
    std::sort(urls.begin(), urls.end());
    return Find(urls);
  }

  absl::Status ListPages(const std::string& folder, Depth depth, const TakePage& take) override {
    ++listings;
    PENSTOCK_RETURN_IF_ERROR(trouble);
    std::vector<source::RemoteEntry> page;
    const std::string root = LocalOf(folder);
    const auto add = [&](const std::filesystem::directory_entry& entry) {
      const std::string name = entry.path().string().substr(root.size());
      if (entry.is_directory() && depth == Depth::kAll) return;
      page.push_back(entry.is_directory() ? source::RemoteEntry{.name = name + "/"}
                                          : EntryOf(entry.path(), name));
    };
    std::error_code ignored;
    if (depth == Depth::kAll)
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root, ignored))
        add(entry);
    else
      for (const auto& entry : std::filesystem::directory_iterator(root, ignored)) add(entry);
    // In an order that is none.
    std::sort(page.begin(), page.end(),
              [](const auto& a, const auto& b) { return a.name > b.name; });
    return take(std::move(page)).status();
  }
  absl::StatusOr<std::shared_ptr<const source::RemoteFile>> Gather(
      source::GatheredFiles files) override {
    return std::make_shared<const GatheredInFolder>(LocalOf(files.folder), std::move(files));
  }
  uint64_t StoreOf(const std::string&) override { return number; }

  std::vector<std::shared_ptr<FileInFolder>> files;  // all that were found
  absl::Status trouble;                              // what listings say
  uint64_t number = 7;                               // of this store
  std::atomic<int> listings = 0;

 private:
  static std::string LocalOf(const std::string& url) { return url.substr(UrlOf("").size()); }
  static source::RemoteEntry EntryOf(const std::filesystem::path& path, const std::string& name) {
    struct stat stat {};
    if (::stat(path.c_str(), &stat) != 0) return {};
    const source::FileState state = source::ToFileState(stat);
    return {.name = name, .bytes = state.bytes, .pin = source::StampOf(state)};
  }

  // Checks each file's pin when it is read.
  class GatheredInFolder final : public source::RemoteFile {
   public:
    GatheredInFolder(std::string root, source::GatheredFiles files)
        : root_(std::move(root)), files_(std::move(files)) {}
    std::string path() const override { return files_.folder; }
    source::FileState state() const override { return files_.state; }
    absl::Status Read(uint64_t, std::span<std::byte>) const override {
      return absl::InternalError("it is read by pieces");
    }
    absl::Status ReadPiece(const source::RemotePiece& piece, uint64_t from,
                           std::span<std::byte> into) const override {
      const source::RemoteEntry entry = files_.at(piece.offset);
      const source::RemoteEntry now = EntryOf(root_ + entry.name, entry.name);
      if (piece.bytes != entry.bytes) return absl::InternalError("it is no piece");
      if (now.name.empty()) return absl::NotFoundError(files_.folder + entry.name + " is gone");
      if (now.pin != entry.pin) return source::Changed(files_.folder + entry.name, "its ETag");
      const posix::Fd file(::open((root_ + entry.name).c_str(), O_RDONLY | O_CLOEXEC));
      return source::ReadExactly(file, entry.name, from, into);
    }

   private:
    const std::string root_;
    const source::GatheredFiles files_;
  };
};

}  // namespace penstock::testing

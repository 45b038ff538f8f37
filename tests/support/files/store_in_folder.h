// A stand-in for an object store: s3://BUCKET/PATH is the local file /PATH, in the state that it
// had when it was found.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
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
  std::vector<source::RemotePiece> pieces() const {
    const std::lock_guard lock(mutex_);
    return pieces_;
  }

 private:
  const std::string url_, local_;
  const source::FileState state_;
  mutable std::mutex mutex_;
  mutable std::vector<source::RemotePiece> pieces_;  // that were read
};

class StoreInFolder final : public source::RemoteFiles {
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

  std::vector<std::shared_ptr<FileInFolder>> files;  // all that were found

 private:
  static std::string LocalOf(const std::string& url) { return url.substr(UrlOf("").size()); }
};

}  // namespace penstock::testing

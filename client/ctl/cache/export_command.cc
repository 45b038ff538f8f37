#include "client/ctl/cache/export_command.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/table.h"
#include "client/ctl/views.h"
#include "client/src/connection/address.h"
#include "client/src/connection/private_daemon.h"
#include "common/base/clock.h"
#include "common/base/store_environment.h"
#include "common/base/units.h"
#include "common/posix/fd.h"

namespace penstock::ctl {
namespace {

constexpr base::Duration kPrivateStartFor = std::chrono::seconds(30);
constexpr size_t kBegin = 8;  // bytes by which an index is recognised
constexpr char kIndexSuffix[] = ".idx";

bool IsUrl(const std::string& text) { return absl::StrContains(text, "://"); }

// Names of datasets have no slash.
bool IsPath(const std::string& text) {
  std::error_code ignored;
  return absl::StrContains(text, "/") || std::filesystem::exists(text, ignored);
}

// What the daemon is asked for: it does not know our working directory.
absl::StatusOr<std::string> ToDataset(const std::string& given) {
  if (IsUrl(given) || !IsPath(given)) return given;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(given, error);
  if (error) return base::ErrnoStatus(error.value(), absl::StrCat("'", given, "'"));
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

struct WrittenIndex {
  std::string shard, path;
  uint64_t samples = 0, bytes = 0;
};

// Writes what a daemon sends.
class IndexWriter {
 public:
  explicit IndexWriter(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Write(const v1::ExportedShardIndex& exported) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string path, FindIndexPath(exported.shard(), folder_));
    if (!paths_.insert(path).second)
      return absl::AlreadyExistsError(absl::StrCat("two shards would have their index in '", path,
                                                   "'; export each folder to one of its own"));
    PENSTOCK_RETURN_IF_ERROR(WriteIndex(path, exported.index()));
    written_.push_back({.shard = exported.shard(),
                        .path = path,
                        .samples = exported.samples(),
                        .bytes = exported.index().size()});
    return absl::OkStatus();
  }
  const std::vector<WrittenIndex>& written() const { return written_; }

 private:
  const std::string folder_;  // empty: beside each shard
  std::set<std::string> paths_;
  std::vector<WrittenIndex> written_;
};

std::string ShowWritten(const std::vector<WrittenIndex>& written, const std::string& folder) {
  uint64_t samples = 0, bytes = 0;
  for (const WrittenIndex& each : written) {
    samples += each.samples;
    bytes += each.bytes;
  }
  return absl::StrCat(Count(written.size()), written.size() == 1 ? " index" : " indexes", " of ",
                      Count(samples), " samples written ",
                      folder.empty() ? "beside the shards" : absl::StrCat("to ", OneLine(folder)),
                      " (", base::FormatBytes(bytes), ")\n");
}

// Numbers as text, like those of other answers.
std::string WrittenJson(const std::vector<WrittenIndex>& written) {
  google::protobuf::Struct report;
  auto& list = *(*report.mutable_fields())["indexes"].mutable_list_value();
  for (const WrittenIndex& each : written) {
    auto& row = *list.add_values()->mutable_struct_value()->mutable_fields();
    row["shard"].set_string_value(OneLine(each.shard));
    row["index"].set_string_value(OneLine(each.path));
    row["samples"].set_string_value(absl::StrCat(each.samples));
    row["bytes"].set_string_value(absl::StrCat(each.bytes));
  }
  return Json(report);
}

// Exports one of the call's datasets.
absl::Status ExportOne(AdminClient& daemon, const std::string& given, IndexWriter& writer,
                       Progress& shown, std::ostream& progress) {
  const base::SteadyClock clock;
  v1::IndexDatasetRequest request;
  PENSTOCK_ASSIGN_OR_RETURN(*request.mutable_dataset(), ToDataset(given));
  request.set_export_indexes(true);
  request.set_store_environment(base::StoreEnvironmentFor(given));
  request.set_store_variables(base::StoreVariableMarksFor(given));
  absl::Status written;
  const auto exported = daemon.IndexDataset(request, [&](const v1::IndexDatasetResponse& update) {
    if (update.has_exported() && written.ok()) written = writer.Write(update.exported());
    if (!update.done()) progress << shown.Update(update.files_seen(), clock.Now()) << std::flush;
    return written.ok();
  });
  PENSTOCK_RETURN_IF_ERROR(written);
  return exported.status();
}

absl::Status WriteAll(const posix::Fd& file, const std::string& content, const std::string& path) {
  for (size_t at = 0; at < content.size();) {
    const ssize_t count = ::write(file.get(), content.data() + at, content.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoStatus(errno, absl::StrCat("writing '", path, "'"));
    at += static_cast<size_t>(count);
  }
  if (::fsync(file.get()) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("writing '", path, "'"));
  return absl::OkStatus();
}

absl::Status CheckReplaceable(const std::string& path, const std::string& content) {
  const posix::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) {
    if (errno == ENOENT) return absl::OkStatus();
    return base::ErrnoStatus(errno, absl::StrCat("'", path, "'"));
  }
  std::array<char, kBegin> begin = {};
  const ssize_t count = ::read(file.get(), begin.data(), begin.size());
  if (count == static_cast<ssize_t>(kBegin) &&
      absl::StartsWith(content, absl::string_view(begin.data(), kBegin)))
    return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      "'", path, "' is there, and is no index of Penstock's; move it, or export with --to"));
}

}  // namespace

absl::StatusOr<std::string> FindIndexPath(const std::string& shard, const std::string& folder) {
  if (folder.empty() && IsUrl(shard))
    return absl::InvalidArgumentError(absl::StrCat(
        "'", OneLine(shard), "' is in a store; name a folder for its index: --to FOLDER"));
  if (folder.empty()) return absl::StrCat(shard, kIndexSuffix);
  const std::string name = shard.substr(shard.rfind('/') + 1);
  if (name.empty() || name == "." || name == ".." || absl::StrContains(name, '\0'))
    return absl::InvalidArgumentError(
        absl::StrCat("'", OneLine(shard), "' does not end in the name of a file"));
  return absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/", name, kIndexSuffix);
}

absl::Status WriteIndex(const std::string& path, const std::string& content) {
  PENSTOCK_RETURN_IF_ERROR(CheckReplaceable(path, content));
  const std::string temporary = absl::StrCat(path, ".", ::getpid(), ".new");
  posix::Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) return base::ErrnoStatus(errno, absl::StrCat("creating '", temporary, "'"));
  absl::Status written = WriteAll(file, content, temporary);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = base::ErrnoStatus(errno, absl::StrCat("renaming '", temporary, "'"));
  if (!written.ok()) (void)::unlink(temporary.c_str());
  return written;
}

absl::StatusOr<std::string> FindDaemonToExport(const Call& call) {
  const char* const named = std::getenv("PENSTOCK_ADDRESS");
  const bool is_named = !call.address.empty() || (named != nullptr && *named != '\0');
  if (is_named || !(IsUrl(call.dataset) || IsPath(call.dataset)))
    return client::FindDaemonToOperate(call.address);
  return client::StartPrivateDaemon(kPrivateStartFor);
}

absl::StatusOr<int> RunExport(AdminClient& daemon, const Call& call, Progress::Style style,
                              std::ostream& out, std::ostream& progress) {
  std::vector<std::string> given = {call.dataset};
  given.insert(given.end(), call.more_datasets.begin(), call.more_datasets.end());
  for (const std::string& each : given)
    if (IsUrl(each)) PENSTOCK_RETURN_IF_ERROR(FindIndexPath(each + "x", call.to).status());
  if (!call.to.empty()) {
    std::error_code error;
    std::filesystem::create_directories(call.to, error);
    if (error) return base::ErrnoStatus(error.value(), absl::StrCat("'", call.to, "'"));
  }
  const base::SteadyClock clock;
  Progress shown(style, 0, clock.Now());
  IndexWriter writer(call.to);
  absl::Status done;
  for (size_t i = 0; i < given.size() && done.ok(); ++i)
    done = ExportOne(daemon, given[i], writer, shown, progress);
  progress << shown.End() << std::flush;
  PENSTOCK_RETURN_IF_ERROR(done);
  out << (call.output == Output::kJson ? WrittenJson(writer.written())
                                       : ShowWritten(writer.written(), call.to));
  return 0;
}

}  // namespace penstock::ctl

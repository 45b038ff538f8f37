#include "server/source/files/file_state.h"

#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/hash.h"

namespace penstock::source {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * kSecondNs + time.tv_nsec; }

}  // namespace

int64_t MtimeOf(const struct stat& stat) { return Nanoseconds(stat.st_mtim); }
int64_t CtimeOf(const struct stat& stat) { return Nanoseconds(stat.st_ctim); }

FileState ToFileState(const struct stat& stat) {
  return {.inode = stat.st_ino,
          .bytes = static_cast<uint64_t>(stat.st_size),
          .mtime_ns = MtimeOf(stat),
          .ctime_ns = CtimeOf(stat)};
}

uint64_t StampOf(const FileState& state) {
  const uint64_t numbers[] = {state.inode, state.bytes, static_cast<uint64_t>(state.mtime_ns),
                              static_cast<uint64_t>(state.ctime_ns)};
  const uint64_t stamp = base::Hash(std::as_bytes(std::span(numbers)));
  return stamp == 0 ? 1 : stamp;
}

std::string TimeText(int64_t time_ns) {
  const std::time_t seconds = time_ns / kSecondNs;
  std::tm utc{};
  if (time_ns < 0 || ::gmtime_r(&seconds, &utc) == nullptr) return absl::StrCat(time_ns, " ns");
  char text[32];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc);
  return absl::StrFormat("%s.%03d UTC", absl::string_view(text, length),
                         time_ns % kSecondNs / 1'000'000);
}

std::string DescribeChange(const FileState& before, const FileState& now) {
  if (before.bytes != now.bytes)
    return absl::StrCat("its size was ", before.bytes, " and is ", now.bytes);
  const std::string when = TimeText(now.ctime_ns);
  if (before.inode != now.inode)
    return absl::StrCat("another file of the same size took its place at ", when);
  if (before.mtime_ns != now.mtime_ns) return absl::StrCat("it was written to at ", when);
  return absl::StrCat("it was changed at ", when,
                      ", though its size and its time of modification are the same (changing its "
                      "permissions, owner, name or links counts, too)");
}

absl::Status Changed(absl::string_view path, absl::string_view how) {
  return absl::DataLossError(absl::StrCat("'", path, "' changed since it was indexed: ", how,
                                          "; open a new session to get its current content"));
}

}  // namespace penstock::source

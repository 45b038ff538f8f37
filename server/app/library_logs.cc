#include "server/app/library_logs.h"

#include <cstdio>

#include "absl/strings/str_split.h"
#include "common/telemetry/log.h"

namespace penstock::app {
namespace {

ssize_t OnTextWritten(void*, const char* text, size_t size) {
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text, size), '\n', absl::SkipEmpty()))
    telemetry::Log(telemetry::Level::kError, "text", {{"text", line}});
  return static_cast<ssize_t>(size);
}

}  // namespace

void LogTextOnStderr() {
  telemetry::IsEnabled(telemetry::Level::kError);  // the logger keeps the stream that there is now
  std::FILE* const stream = ::fopencookie(
      nullptr, "w", {.read = nullptr, .write = OnTextWritten, .seek = nullptr, .close = nullptr});
  if (stream == nullptr) return;
  std::setvbuf(stream, nullptr, _IOLBF, BUFSIZ);
  stderr = stream;
}

}  // namespace penstock::app

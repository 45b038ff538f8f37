#include "client/ctl/cache/cache_command.h"

#include <google/protobuf/struct.pb.h>

#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/ctl/scripting/yaml.h"
#include "client/ctl/table.h"
#include "client/ctl/views.h"
#include "common/base/clock.h"
#include "common/base/units.h"
#include "server/store/cache/cache_survey.h"

namespace penstock::ctl {
namespace {

constexpr base::Duration kSaidEvery = std::chrono::seconds(5);

absl::StatusOr<std::string> FolderOf(const Call& call) {
  if (!call.file.empty()) return call.file;
  const char* const folder = std::getenv("PENSTOCK_STORE_CACHE");
  if (folder != nullptr && *folder != '\0') return std::string(folder);
  return absl::InvalidArgumentError("name the cache's folder, or set PENSTOCK_STORE_CACHE");
}

std::string UrlOf(const store::CachedObject& object) {
  if (object.url.empty()) return OneLine(object.name);
  if (object.endpoint.empty()) return OneLine(object.url);
  return OneLine(absl::StrCat(object.url, " at ", object.endpoint));
}

std::string ShowObjects(const std::vector<store::CachedObject>& objects) {
  if (objects.empty()) return "the cache is empty\n";
  Table table({{"OBJECT"},
               {"OF", kRight},
               {"KEPT", kRight},
               {"ON DISK", kRight},
               {"PIECES", kRight},
               {"LAST OPENED"}});
  uint64_t on_disk = 0;
  for (const store::CachedObject& object : objects) {
    table.Add({UrlOf(object), base::FormatBytes(object.object_bytes),
               base::FormatBytes(object.kept_bytes), base::FormatBytes(object.disk_bytes),
               Count(object.pieces),
               absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(object.used_ns),
                                absl::LocalTimeZone())});
    on_disk += object.disk_bytes;
  }
  return absl::StrCat(table.Text(), Count(objects.size()), " objects, ", base::FormatBytes(on_disk),
                      " on disk\n");
}

// Numbers as text, like those of other answers.
std::string JsonOf(const std::vector<store::CachedObject>& objects,
                   const store::KnownLines& answers = {}) {
  google::protobuf::Struct report;
  (*report.mutable_fields())["damaged_answers"].set_string_value(absl::StrCat(answers.damaged));
  auto& list = *(*report.mutable_fields())["objects"].mutable_list_value();
  for (const store::CachedObject& object : objects) {
    auto& row = *list.add_values()->mutable_struct_value()->mutable_fields();
    const auto number = [&row](const char* name, uint64_t value) {
      row[name].set_string_value(absl::StrCat(value));
    };
    row["url"].set_string_value(OneLine(object.url.empty() ? object.name : object.url));
    row["endpoint"].set_string_value(OneLine(object.endpoint));
    row["name"].set_string_value(object.name);
    number("object_bytes", object.object_bytes);
    number("kept_bytes", object.kept_bytes);
    number("disk_bytes", object.disk_bytes);
    number("pieces", object.pieces);
    number("damaged", object.damaged);
  }
  return Json(report);
}

absl::StatusOr<int> ListObjects(const std::string& folder, const Call& call, std::ostream& out) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<store::CachedObject> objects,
                            store::SurveyCache(folder));
  out << (IsForPrograms(call.output) ? ForPrograms(call.output, JsonOf(objects))
                                     : ShowObjects(objects));
  return 0;
}

absl::StatusOr<int> Verify(const std::string& folder, const Call& call, std::ostream& out,
                           std::ostream& progress) {
  base::TimePoint said = base::Now();
  const auto say = [&](uint64_t bytes) {
    if (base::Now() - said < kSaidEvery) return true;
    said = base::Now();
    progress << base::FormatBytes(bytes) << " verified\n" << std::flush;
    return true;
  };
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<store::CachedObject> objects,
                            store::VerifyCache(folder, say));
  PENSTOCK_ASSIGN_OR_RETURN(const store::KnownLines answers, store::VerifyAnswers(folder));
  uint64_t damaged = 0, pieces = 0, bytes = 0;
  std::string text;
  for (const store::CachedObject& object : objects) {
    pieces += object.pieces;
    bytes += object.kept_bytes;
    damaged += object.damaged;
    if (object.damaged > 0)
      absl::StrAppend(&text, UrlOf(object), ": ", Count(object.damaged), " damaged ",
                      object.damaged == 1 ? "piece" : "pieces", " of ", Count(object.pieces), "\n");
  }
  if (answers.damaged > 0)
    absl::StrAppend(
        &text, "known: ", Count(answers.damaged), " damaged of ",
        Count(answers.whole + answers.damaged),
        " lines about what stores said, which count as unknown until they say it again\n");
  absl::StrAppend(&text, Count(pieces), " pieces, ", base::FormatBytes(bytes), ": ",
                  damaged == 0
                      ? "all are as they were written"
                      : "a daemon fetches damaged ones again when it reads them; `penstockctl "
                        "fetch` makes it check and fetch all",
                  "\n");
  out << (IsForPrograms(call.output) ? ForPrograms(call.output, JsonOf(objects, answers)) : text);
  return damaged == 0 && answers.damaged == 0 ? 0 : 1;
}

absl::StatusOr<int> Clear(const std::string& folder, std::ostream& out) {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t freed, store::ClearCache(folder));
  out << base::FormatBytes(freed) << " freed\n";
  return 0;
}

}  // namespace

absl::StatusOr<int> RunCacheCommand(const Call& call, std::ostream& out, std::ostream& progress) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string folder, FolderOf(call));
  switch (call.command) {
    case Command::kCacheVerify:
      return Verify(folder, call, out, progress);
    case Command::kCacheClear:
      return Clear(folder, out);
    default:
      return ListObjects(folder, call, out);
  }
}

}  // namespace penstock::ctl

#include "server/app/reloads.h"

#include <sys/stat.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "common/telemetry/log.h"
#include "server/app/config/config_diff.h"
#include "server/app/options.h"

namespace penstock::app {
namespace {

absl::Status Refuse(const session::AskedBy& asked_by, absl::string_view why) {
  PENSTOCK_LOG(kError, "reload_refused", {"user", asked_by.user}, {"pid", asked_by.pid},
               {"reason", why});
  return absl::FailedPreconditionError(why);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Reloads::Reload(const session::AskedBy& asked_by) {
  if (!can_reload()) return Refuse(asked_by, "a private daemon has no configuration");
  const absl::StatusOr<ConfigFile> next = options_.read();
  if (!next.ok()) return Refuse(asked_by, next.status().message());
  absl::StatusOr<DatasetOffer> offer = ToOffer(next->config);
  if (!offer.ok()) return Refuse(asked_by, next->lines.Locate(offer.status()).message());

  std::vector<std::string> changed, fixed;
  for (const ConfigChange& change : Compare(config_, next->config))
    (change.needs_restart ? fixed : changed).push_back(change.ToString());
  if (!fixed.empty())
    return Refuse(
        asked_by,
        absl::StrCat("cannot change while the daemon runs: ", absl::StrJoin(fixed, "; "),
                     "; undo the change, or restart (trainers continue where they were)"));
  if (const absl::Status fits = options_.check(*next); !fits.ok())
    return Refuse(asked_by, fits.message());
  options_.apply(next->config, *std::move(offer));
  config_ = next->config;
  PENSTOCK_LOG(kInfo, "reloaded", {"user", asked_by.user}, {"pid", asked_by.pid},
               {"changed", absl::StrJoin(changed, "; ")});
  return changed;
}

void Reloads::Ask(Done done, const session::AskedBy& asked_by, const rpc::MeantFile& file) {
  const base::MutexLock lock(mutex_);
  asked_.push_back({std::move(done), asked_by, file});
}

// The caller may see our file under another path, so device and inode decide.
absl::Status Reloads::CheckIsOurs(const rpc::MeantFile& file) const {
  struct stat ours {};
  if (file.path.empty() || file.path == options_.file) return absl::OkStatus();
  if (::stat(options_.file.c_str(), &ours) == 0 && ours.st_dev == file.device &&
      ours.st_ino == file.inode)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this daemon reads ", options_.file, ", not ", absl::Utf8SafeCEscape(file.path),
                   "; change the former and reload that, or restart the daemon with the latter"));
}

std::vector<Reloads::AskedReload> Reloads::TakeAsked() {
  const base::MutexLock lock(mutex_);
  return std::exchange(asked_, {});
}

void Reloads::AnswerAll() {
  std::vector<AskedReload> asked = TakeAsked();
  std::erase_if(asked, [this](const AskedReload& each) {
    const absl::Status ours = CheckIsOurs(each.file);
    if (!ours.ok()) each.done(Refuse(each.by, ours.message()));
    return !ours.ok();
  });
  if (asked.empty()) return;
  const absl::StatusOr<std::vector<std::string>> changed = Reload(asked.front().by);
  v1::ReloadResponse response;
  if (changed.ok()) response.mutable_changed()->Add(changed->begin(), changed->end());
  for (const AskedReload& each : asked)
    each.done(changed.ok() ? absl::StatusOr<v1::ReloadResponse>(response) : changed.status());
}

void Reloads::RefuseAll(const absl::Status& why) {
  for (const AskedReload& each : TakeAsked()) each.done(why);
}

}  // namespace penstock::app

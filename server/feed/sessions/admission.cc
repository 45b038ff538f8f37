#include "server/feed/sessions/admission.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"

namespace penstock::feed {
namespace {

absl::Status AdmitToPool(const Admission& limits, const Applicant& applicant) {
  const uint64_t bytes =
      applicant.window_bytes + applicant.open_window_bytes + applicant.left_behind_bytes;
  const double share = static_cast<double>(bytes) / static_cast<double>(applicant.pool_bytes);
  if (limits.max_pool_per_user >= 1 || share <= limits.max_pool_per_user) return absl::OkStatus();
  const std::string left_behind =
      applicant.left_behind_bytes == 0
          ? ""
          : absl::StrCat("; ", base::FormatBytes(applicant.left_behind_bytes),
                         " of it belong to closed sessions whose reads are blocked: check their "
                         "storage");
  return absl::ResourceExhaustedError(absl::StrCat(
      "the windows of user ", applicant.user, " would take ", base::FormatBytes(bytes),
      " of the pool's ", base::FormatBytes(applicant.pool_bytes), ", more than the ",
      limits.max_pool_per_user * 100,
      "% of limits.max_pool_per_user; open with smaller windows, or close sessions", left_behind));
}

}  // namespace

absl::Status Admit(const Admission& limits, const Applicant& applicant) {
  if (applicant.sessions >= limits.max_sessions_per_user)
    return absl::ResourceExhaustedError(
        absl::StrCat("user ", applicant.user, " has ", applicant.sessions,
                     " sessions open, all that limits.max_sessions_per_user allows; close some"));
  PENSTOCK_RETURN_IF_ERROR(AdmitToPool(limits, applicant));
  if (applicant.all_sessions < limits.max_sessions) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("all ", limits.max_sessions,
                   " sessions of this daemon are open; close some or raise server.max_sessions"));
}

absl::Status CheckFingerprint(uint64_t expected, uint64_t fingerprint) {
  if (expected == 0 || expected == fingerprint) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the state belongs to another feed: its fingerprint is ",
      absl::Hex(expected, absl::kZeroPad16), ", this feed's is ",
      absl::Hex(fingerprint, absl::kZeroPad16),
      "; the dataset, its order, its seed or the decoding has changed since the state was saved"));
}

}  // namespace penstock::feed

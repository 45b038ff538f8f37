#include "client/ctl/feeds/names.h"

#include <pwd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/ctl/table.h"

namespace penstock::ctl {

std::string UserName(uint32_t user_id) {
  char buffer[4096];
  passwd entry;
  passwd* found = nullptr;
  ::getpwuid_r(user_id, &entry, buffer, sizeof(buffer), &found);
  return found != nullptr ? found->pw_name : absl::StrCat(user_id);
}

std::string Hexadecimal(uint64_t fingerprint) { return absl::StrFormat("%016x", fingerprint); }

std::string FeedName(const v1::FeedStatus& feed, const v1::GetStatusResponse& status) {
  const auto alike =
      std::count_if(status.feeds().begin(), status.feeds().end(), [&](const v1::FeedStatus& other) {
        return other.dataset() == feed.dataset() && other.user_id() == feed.user_id();
      });
  return absl::StrCat(OneLine(feed.dataset()), " of ", OneLine(UserName(feed.user_id())),
                      alike > 1 ? absl::StrCat(", feed ", Hexadecimal(feed.fingerprint())) : "");
}

std::string VerdictLines(const v1::GetStatusResponse& status, size_t columns) {
  std::string text;
  for (const v1::FeedStatus& feed : status.feeds()) {
    if (feed.sessions() == 0 || feed.verdict().empty()) continue;
    std::string line = absl::StrCat(FeedName(feed, status), ": ", OneLine(feed.verdict()));
    if (feed.starved() >= 0.005)
      absl::StrAppendFormat(&line, " (its trainers wait %.0f %% of the time)",
                            100 * feed.starved());
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    text += InLines(words, " ", columns, 2);
  }
  return text;
}

}  // namespace penstock::ctl

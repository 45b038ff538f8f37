// What object stores, and servers that give keys for them, answer; and files with keys. The first
// byte chooses the reader.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "common/base/check.h"
#include "server/store/client/content_range.h"
#include "server/store/client/listing.h"
#include "server/store/credentials/key_answers.h"
#include "server/store/credentials/profiles.h"

namespace store = penstock::store;

namespace {

// Keys become headers, so they must not end one.
void CheckKeys(const absl::StatusOr<store::SharedKeys>& keys) {
  if (!keys.ok()) return;
  for (const std::string& text : {(*keys)->key_id, (*keys)->secret, (*keys)->token})
    for (const char c : text) PENSTOCK_CHECK(c > ' ' && c != 0x7f);
  PENSTOCK_CHECK(!(*keys)->key_id.empty() && !(*keys)->secret.empty());
}

store::TransferAnswer ToAnswer(int code, std::string body) {
  store::TransferAnswer answer;
  answer.code = code;
  answer.body = std::move(body);
  return answer;
}

void ReadAnswers(const std::string& text) {
  const store::Address folder = {.scheme = store::Scheme::kS3, .place = "bucket", .key = "folder/"};
  store::ToListPage(ToAnswer(200, text), folder).status().IgnoreError();
  for (const int code : {301, 400, 403, 503}) {
    const store::TransferAnswer answer = ToAnswer(code, text);
    const absl::Status status = store::ToStatus(answer, folder);
    PENSTOCK_CHECK(!status.ok() && !absl::StrContains(status.message(), '\n'));
    PENSTOCK_CHECK(store::RegionIn(answer).size() <= 64);
    store::MayHaveEndedKeys(answer);
  }
  if (const auto range = store::ParseContentRange(text))
    PENSTOCK_CHECK(range->first <= range->last);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0]) {
    case 'j':
      CheckKeys(store::ReadJsonKeys(text, "json"));
      break;
    case 'x':
      CheckKeys(store::ReadStsKeys(text, "xml"));
      break;
    case 'p':
      for (const auto& [name, value] : store::ReadProfile(text, "default"))
        PENSTOCK_CHECK(!absl::StrContains(name + value, '\n'));
      break;
    default:
      ReadAnswers(text);
  }
  return 0;
}

// Arbitrary bytes sent to the metrics port.
#include <cstdint>

#include "common/base/check.h"
#include "server/status/http_request.h"
#include "server/status/page/bad_sample.h"

namespace status = penstock::status;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLimit = 4096;
  const absl::string_view all(reinterpret_cast<const char*>(data), size);
  const status::HttpRequest whole = status::Judge(all, kLimit);
  // There is a verdict within the limit, and further bytes don't change it.
  PENSTOCK_CHECK(size < kLimit || whole.verdict != status::HttpVerdict::kIncomplete);
  for (size_t part = 0; part < size; part += 1 + size / 16) {
    const status::HttpRequest early = status::Judge(all.substr(0, part), kLimit);
    if (early.verdict == status::HttpVerdict::kIncomplete) continue;
    PENSTOCK_CHECK(early.verdict == whole.verdict && early.head_only == whole.head_only &&
                   early.path == whole.path && early.query == whole.query);
  }
  PENSTOCK_CHECK(!status::ResponseHead(whole.verdict, size).empty());
  PENSTOCK_CHECK(!status::Explanation(whole.verdict).empty());
  const auto sample = status::ParseBadSampleName(whole.query);
  PENSTOCK_CHECK(!sample || sample->dataset.size() < whole.query.size());
  return 0;
}

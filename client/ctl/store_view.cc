#include "client/ctl/store_view.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/table.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

std::string CacheText(const v1::StoreCacheStatus& cache) {
  std::string text =
      absl::StrCat(base::FormatBytes(cache.bytes()), " of ", base::FormatBytes(cache.bytes_max()),
                   " kept, ", Count(cache.hits()), " hits");
  if (cache.refused() > 0) absl::StrAppend(&text, ", ", Count(cache.refused()), " not kept");
  if (cache.damaged() > 0) absl::StrAppend(&text, ", ", Count(cache.damaged()), " damaged");
  return text;
}

}  // namespace

std::string StoreLine(const v1::StoreStatus& stores) {
  std::string text = absl::StrCat(
      absl::StrFormat("%.1f MB/s, ", static_cast<double>(stores.bytes_per_second()) / 1e6),
      Count(stores.under_way()), " requests under way   ", base::FormatBytes(stores.read_bytes()),
      " in ", Count(stores.requests()), " requests, ", Count(stores.retries()), " sent again, ",
      Count(stores.hedges()), " hedged");
  if (stores.has_cache()) absl::StrAppend(&text, "   cache: ", CacheText(stores.cache()));
  return text;
}

}  // namespace penstock::ctl

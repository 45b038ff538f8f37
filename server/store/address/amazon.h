// Amazon's domains. Pure.
#pragma once

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace penstock::store {

// The domain of Amazon's services in a region; those in China have their own.
inline absl::string_view AmazonDomain(absl::string_view region) {
  return absl::StartsWith(region, "cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

}  // namespace penstock::store

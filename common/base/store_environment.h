// The environment variables that decide what a URL of an object store leads to, with whose rights,
// and whether what is read is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock::base {

// Calls `each` with every name, in a fixed order.
void ForEachStoreVariable(const std::function<void(const char* name)>& each);

// A hash of all these variables, never 0. Two processes with the same one read the same objects.
// `get`: a variable's value; null: it is not set.
uint64_t StoreEnvironmentOf(const std::function<const char*(const char* name)>& get);

// That of this process if the dataset is a URL, else 0.
uint64_t StoreEnvironmentFor(absl::string_view dataset);

}  // namespace penstock::base

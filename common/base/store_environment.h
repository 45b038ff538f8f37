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

// Two bytes for each variable: they tell which one differs, and not what it holds.
std::string StoreVariableMarks(const std::function<const char*(const char* name)>& get);

// Those of this process if the dataset is a URL, else empty.
std::string StoreVariableMarksFor(absl::string_view dataset);

// The names of the variables by which the two differ, as "A, B"; empty if they are of versions that
// know other variables, or are equal.
std::string DifferingStoreVariables(absl::string_view one, absl::string_view other);

}  // namespace penstock::base

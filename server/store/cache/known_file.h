// The lines of the file `known`, in which the answers of stores are kept (../files/last_known.h).
// Pure, but for VerifyKnown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace penstock::store {

// A hash of what an entry is about.
uint64_t HashOfText(absl::string_view text);

// "WHAT TEXT CHECK": two hashes in hexadecimal digits, and between them the escaped text.
std::string ToKnownLine(uint64_t what, const std::string& text);
// Nullopt: it is not as it was written.
std::optional<std::pair<uint64_t, std::string>> FromKnownLine(absl::string_view line);

// How much of a file is as it was written.
struct KnownLines {
  uint64_t whole = 0, damaged = 0;
};
// Zeros if there is none.
KnownLines VerifyKnown(const std::string& path);

}  // namespace penstock::store

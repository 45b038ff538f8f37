// Converts State to one line of text and back.
#include <array>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "penstock/penstock.h"

namespace penstock {
namespace {

constexpr const char* kExample =
    "epoch=1 consumed=640 seed=7 fingerprint=0123456789abcdef quarantine_version=0";

Status NotAState(absl::string_view text, absl::string_view what) {
  return Status(Code::kInvalidArgument, absl::StrCat("session state '", text, "': ", what,
                                                     "; expected, for example, '", kExample, "'"));
}

bool ParseHex(absl::string_view text, uint64_t* value) {
  return !text.empty() && text.size() <= 16 && absl::SimpleHexAtoi(text, value) &&
         text.find_first_not_of("0123456789abcdefABCDEF") == absl::string_view::npos;
}

}  // namespace

std::string State::ToString() const {
  return absl::StrCat("epoch=", epoch, " consumed=", consumed, " seed=", seed,
                      " fingerprint=", absl::Hex(fingerprint, absl::kZeroPad16),
                      " quarantine_version=", quarantine_version);
}

Result<State> State::FromString(const std::string& text) {
  State state;
  std::map<absl::string_view, uint64_t*> wanted = {
      {"epoch", &state.epoch},
      {"consumed", &state.consumed},
      {"seed", &state.seed},
      {"fingerprint", &state.fingerprint},
      {"quarantine_version", &state.quarantine_version}};
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    const auto found = wanted.find(pair.first);
    if (found == wanted.end()) {
      return NotAState(text, absl::StrCat("'", pair.first, "' is unknown or comes twice"));
    }
    const bool parsed = pair.first == "fingerprint" ? ParseHex(pair.second, found->second)
                                                    : absl::SimpleAtoi(pair.second, found->second);
    if (!parsed) return NotAState(text, absl::StrCat("'", word, "' is not a number"));
    wanted.erase(found);
  }
  if (!wanted.empty()) return NotAState(text, absl::StrCat(wanted.begin()->first, " is missing"));
  return state;
}

}  // namespace penstock

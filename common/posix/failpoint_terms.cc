#include "common/posix/failpoint_terms.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock::posix {
namespace {

struct KnownAction {
  absl::string_view name;
  FailpointAction action;
  int argument;     // default value; -1: it takes none
  int least, most;  // argument
};
// An error is one of absl::StatusCode, but not OK.
constexpr KnownAction kKnown[] = {{"off", FailpointAction::kOff, -1, 0, 0},
                                  {"kill", FailpointAction::kKill, -1, 0, 0},
                                  {"exit", FailpointAction::kExit, 1, 0, 255},
                                  {"error", FailpointAction::kError, 14, 1, 16},
                                  {"delay", FailpointAction::kDelay, 100, 0, 3'600'000},
                                  {"pause", FailpointAction::kPause, -1, 0, 0}};

absl::Status WrongTerm(absl::string_view term) {
  return absl::InvalidArgumentError(absl::StrCat(
      "PENSTOCK_FAILPOINTS: '", term,
      "' is no term; wanted [count*]off, kill, exit(code), error(code), delay(ms) or pause"));
}

// The text between the brackets at the end, which are removed; nullopt without brackets.
std::optional<absl::string_view> TakeArgument(absl::string_view& text) {
  const size_t open = text.find('(');
  if (open == absl::string_view::npos || text.back() != ')') return std::nullopt;
  const absl::string_view argument = text.substr(open + 1, text.size() - open - 2);
  text = text.substr(0, open);
  return argument;
}

absl::StatusOr<FailpointTerm> ParseTerm(absl::string_view text) {
  const absl::string_view whole = text;
  FailpointTerm term;
  if (const size_t star = text.find('*'); star != absl::string_view::npos) {
    uint64_t count = 0;
    if (!absl::SimpleAtoi(text.substr(0, star), &count) || count == 0) return WrongTerm(whole);
    term.count = count;
    text = text.substr(star + 1);
  }
  const auto argument = TakeArgument(text);
  for (const KnownAction& known : kKnown) {
    if (known.name != text) continue;
    term.action = known.action;
    term.argument = known.argument;
    if (!argument) return term;
    const bool valid = known.argument >= 0 && absl::SimpleAtoi(*argument, &term.argument);
    if (!valid || term.argument < known.least || term.argument > known.most)
      return WrongTerm(whole);
    return term;
  }
  return WrongTerm(whole);
}

}  // namespace

absl::StatusOr<FailpointTerms> FailpointTerms::Parse(absl::string_view text) {
  FailpointTerms terms;
  for (const absl::string_view entry : absl::StrSplit(text, ';', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    if (parts.first.empty() || parts.second.empty()) return WrongTerm(entry);
    std::vector<FailpointTerm>& of_name = terms.terms_[std::string(parts.first)];
    for (const absl::string_view term : absl::StrSplit(parts.second, "->")) {
      PENSTOCK_ASSIGN_OR_RETURN(FailpointTerm parsed, ParseTerm(term));
      of_name.push_back(parsed);
    }
  }
  for (const auto& [name, of_name] : terms.terms_) terms.names_.push_back(name);
  return terms;
}

std::optional<size_t> FailpointTerms::Find(absl::string_view name) const {
  const auto found = std::lower_bound(names_.begin(), names_.end(), name);
  if (found == names_.end() || *found != name) return std::nullopt;
  return static_cast<size_t>(found - names_.begin());
}

FailpointTerm FailpointTerms::Choose(size_t place, uint64_t before) const {
  for (const FailpointTerm& term : terms_.at(names_.at(place))) {
    if (!term.count || before < *term.count) return term;
    before -= *term.count;
  }
  return {};
}

}  // namespace penstock::posix

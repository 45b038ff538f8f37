#include "tests/bench/harness/arguments.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "common/base/arguments.h"

namespace penstock::bench {
namespace {

const base::Option kOptions[] = {
    {.name = "--data"},
    {.name = "--json"},
    {.name = "--small", .kind = base::OptionKind::kSwitch},
    {.name = "--help", .kind = base::OptionKind::kFinal, .letter = "-h"},
    {.name = "--version", .kind = base::OptionKind::kFinal},
};

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

absl::StatusOr<std::string> ReadSuite(const std::vector<std::string>& words,
                                      const std::vector<std::string>& suites) {
  const std::string names = absl::StrJoin(suites, ", ");
  if (words.empty()) return Wrong("a suite is missing; use one of ", names);
  if (words.size() > 1)
    return Wrong("only one suite at a time: got '", words[0], "' and '", words[1], "'");
  if (std::find(suites.begin(), suites.end(), words[0]) == suites.end())
    return Wrong("there is no suite '", words[0], "'; use one of ", names);
  return words[0];
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words,
                                         const std::vector<std::string>& suites) {
  PENSTOCK_ASSIGN_OR_RETURN(const base::GivenArguments given,
                            base::SplitArguments(words, kOptions, "penstock-bench"));
  Arguments arguments;
  if (given.final_option == "--help") arguments.action = Action::kHelp;
  if (given.final_option == "--version") arguments.action = Action::kVersion;
  if (arguments.action != Action::kRun) return arguments;
  PENSTOCK_ASSIGN_OR_RETURN(arguments.suite, ReadSuite(given.words, suites));
  for (const auto& [name, value] : given.options) {
    if (name == "--data") arguments.data = value;
    if (name == "--json") arguments.json = value;
    if (name == "--small") arguments.extent = Extent::kSmall;
  }
  return arguments;
}

}  // namespace penstock::bench

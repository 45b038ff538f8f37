#include "tests/bench/arguments.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace penstock::bench {
namespace {

constexpr char kSeeHelp[] = "; see 'penstock-bench --help'";

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

// Reads the words one by one: each is an option, an option's value, or the suite.
class Reader {
 public:
  Reader(const std::vector<std::string>& words, const std::vector<std::string>& suites)
      : words_(words), suites_(suites) {}

  absl::StatusOr<Arguments> Read() {
    while (at_ < words_.size() && arguments_.action == Action::kRun) {
      const std::string& word = words_[at_++];
      PENSTOCK_RETURN_IF_ERROR(word.starts_with("-") ? ReadOption(word) : ReadSuite(word));
    }
    if (arguments_.action == Action::kRun && arguments_.suite.empty()) {
      return Wrong("a suite is missing; use one of ", absl::StrJoin(suites_, ", "));
    }
    return arguments_;
  }

 private:
  absl::Status ReadSuite(const std::string& word) {
    if (!arguments_.suite.empty()) {
      return Wrong("only one suite at a time: got '", arguments_.suite, "' and '", word, "'");
    }
    if (std::find(suites_.begin(), suites_.end(), word) == suites_.end()) {
      return Wrong("there is no suite '", word, "'; use one of ", absl::StrJoin(suites_, ", "));
    }
    arguments_.suite = word;
    return absl::OkStatus();
  }

  absl::Status ReadOption(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (word == "--help" || word == "-h") return Instead(Action::kHelp);
    if (word == "--version") return Instead(Action::kVersion);
    if (word == "--small") {
      arguments_.extent = Extent::kSmall;
      return absl::OkStatus();
    }
    if (name != "--data" && name != "--json")
      return Wrong("there is no option '", word, "'", kSeeHelp);
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (at_ < words_.size()) {
      value = words_[at_++];
    }
    if (value.empty()) return Wrong(name, " needs a value", kSeeHelp);
    (name == "--data" ? arguments_.data : arguments_.json) = value;
    return absl::OkStatus();
  }

  absl::Status Instead(Action action) {
    arguments_.action = action;
    return absl::OkStatus();
  }

  const std::vector<std::string>& words_;
  const std::vector<std::string>& suites_;
  size_t at_ = 0;
  Arguments arguments_;
};

}  // namespace

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words,
                                         const std::vector<std::string>& suites) {
  return Reader(words, suites).Read();
}

}  // namespace penstock::bench

#include "common/base/arguments.h"

#include <algorithm>
#include <utility>

namespace penstock::base {
namespace {

class Splitter {
 public:
  Splitter(std::span<const std::string> arguments, std::span<const Option> options,
           const std::string& program)
      : rest_(arguments), options_(options), program_(program) {}

  absl::StatusOr<GivenArguments> Split() {
    while (!rest_.empty() && given_.final_option.empty()) {
      const std::string& argument = Take();
      if (argument == "--") {
        given_.words.insert(given_.words.end(), rest_.begin(), rest_.end());
        break;
      }
      const bool is_word = argument.size() < 2 || argument[0] != '-';
      if (is_word) {
        given_.words.push_back(argument);
      } else {
        PENSTOCK_RETURN_IF_ERROR(ReadOption(argument));
      }
    }
    return std::move(given_);
  }

 private:
  const std::string& Take() {
    const std::string& argument = rest_.front();
    rest_ = rest_.subspan(1);
    return argument;
  }

  absl::Status ReadOption(const std::string& argument) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const Option* option = Find(name);
    if (option == nullptr) return Wrong(absl::StrCat("there is no option '", name, "'"));
    GivenOption given{.name = option->name, .value = ""};
    if (option->kind == OptionKind::kValue) {
      given.value = equals != std::string::npos ? argument.substr(equals + 1) : TakeValue();
      if (given.value.empty()) return Wrong(absl::StrCat(name, " needs a value"));
    } else if (equals != std::string::npos) {
      return Wrong(absl::StrCat("there is no option '", argument, "'"));
    }
    if (option->kind == OptionKind::kFinal) given_.final_option = option->name;
    given_.options.push_back(std::move(given));
    return absl::OkStatus();
  }

  std::string TakeValue() { return rest_.empty() || rest_.front().starts_with("--") ? "" : Take(); }

  const Option* Find(const std::string& name) const {
    const auto found = std::find_if(options_.begin(), options_.end(), [&](const Option& each) {
      return name == each.name || name == each.letter;
    });
    return found == options_.end() ? nullptr : &*found;
  }

  absl::Status Wrong(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(what, "; see '", program_, " --help'"));
  }

  std::span<const std::string> rest_;
  const std::span<const Option> options_;
  const std::string& program_;
  GivenArguments given_;
};

}  // namespace

absl::StatusOr<GivenArguments> SplitArguments(std::span<const std::string> arguments,
                                              std::span<const Option> options,
                                              const std::string& program) {
  return Splitter(arguments, options, program).Split();
}

}  // namespace penstock::base

#include "server/app/arguments.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/arguments.h"

namespace penstock::app {
namespace {

constexpr uint32_t kMaxWorkers = 1024;

const base::Option kOptions[] = {
    {.name = "--config"},
    {.name = "--check-config"},
    {.name = "--check-syntax"},
    {.name = "--instead-of"},
    {.name = "--reload"},
    {.name = "--private"},
    {.name = "--workers"},
    {.name = "--stay", .kind = base::OptionKind::kSwitch},
    {.name = "--help", .kind = base::OptionKind::kFinal, .letter = "-h"},
    {.name = "--version", .kind = base::OptionKind::kFinal},
};

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; see 'penstockd --help'"));
}

// What is done with the configuration that the option names; nullopt: it names none.
std::optional<Action> ActionWith(absl::string_view option) {
  if (option == "--config") return Action::kRun;
  if (option == "--check-config") return Action::kCheckConfig;
  if (option == "--check-syntax") return Action::kCheckSyntax;
  if (option == "--reload") return Action::kReload;
  return std::nullopt;
}

absl::Status Apply(const base::GivenOption& option, Arguments& arguments) {
  const auto& [name, value] = option;
  const auto twice = [&name = name] { return Wrong(absl::StrCat(name, " was given twice")); };
  if (const std::optional<Action> action = ActionWith(name)) {
    if (arguments.config) return twice();
    arguments.config = value;
    arguments.action = *action;
  } else if (name == "--instead-of") {
    if (arguments.replaced > 0) return twice();
    if (!absl::SimpleAtoi(value, &arguments.replaced) || arguments.replaced < 1)
      return Wrong(absl::StrCat("--instead-of takes the id of a process, not '", value, "'"));
  } else if (name == "--private") {
    if (!arguments.directory.empty()) return twice();
    arguments.directory = value;
  } else if (name == "--stay") {
    if (arguments.stays) return twice();
    arguments.stays = true;
  } else if (name == "--workers") {
    uint32_t count = 0;
    if (!absl::SimpleAtoi(value, &count) || count < 1 || count > kMaxWorkers)
      return Wrong(
          absl::StrCat("--workers takes a number from 1 to ", kMaxWorkers, ", not '", value, "'"));
    if (arguments.workers) return twice();
    arguments.workers = count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  PENSTOCK_ASSIGN_OR_RETURN(const base::GivenArguments given,
                            base::SplitArguments(words, kOptions, "penstockd"));
  if (!given.words.empty())
    return Wrong(absl::StrCat("'", given.words.front(), "' is not an argument"));
  if (given.final_option == "--help") return Arguments{.action = Action::kHelp};
  if (given.final_option == "--version") return Arguments{.action = Action::kVersion};
  Arguments arguments;
  for (const base::GivenOption& option : given.options)
    PENSTOCK_RETURN_IF_ERROR(Apply(option, arguments));
  if (arguments.config && !arguments.directory.empty())
    return Wrong(
        "--private and --config exclude each other: a private daemon has no configuration");
  if (arguments.replaced > 0 && arguments.action != Action::kCheckConfig)
    return Wrong("--instead-of belongs to --check-config");
  if (arguments.config && arguments.stays)
    return Wrong(
        "--stay and --config exclude each other: with a configuration, the daemon stays "
        "unless server.exit_when_idle is set");
  return arguments;
}

}  // namespace penstock::app

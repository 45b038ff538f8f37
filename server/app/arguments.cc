#include "server/app/arguments.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock::app {
namespace {

constexpr uint32_t kMaxWorkers = 1024;

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; 'penstockd --help' lists the arguments"));
}

absl::Status Twice(const std::string& name) {
  return Wrong(absl::StrCat(name, " was given twice"));
}

absl::Status Apply(const std::string& name, const std::string& value, Arguments& arguments) {
  if (name == "--config" || name == "--check-config") {
    if (arguments.config) return Twice(name);
    arguments.config = value;
    if (name == "--check-config") arguments.action = Action::kCheckConfig;
  } else if (name == "--private") {
    if (!arguments.directory.empty()) return Twice(name);
    arguments.directory = value;
  } else if (name == "--workers") {
    uint32_t count = 0;
    if (!absl::SimpleAtoi(value, &count) || count < 1 || count > kMaxWorkers)
      return Wrong(
          absl::StrCat("--workers takes a number from 1 to ", kMaxWorkers, ", not '", value, "'"));
    if (arguments.workers) return Twice(name);
    arguments.workers = count;
  } else {
    return Wrong(absl::StrCat("there is no argument '", name, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(int argc, const char* const* argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help" || name == "-h") return Arguments{.action = Action::kHelp};
    if (name == "--version") return Arguments{.action = Action::kVersion};
    if (!name.starts_with("--")) return Wrong(absl::StrCat("'", name, "' is not an argument"));
    if (name == "--stay") {
      if (arguments.stays) return Twice(name);
      arguments.stays = true;
      continue;
    }
    const size_t equals = name.find('=');
    std::string value;
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < argc && !std::string(argv[i + 1]).starts_with("--")) {
      value = argv[++i];
    }
    if (value.empty()) return Wrong(absl::StrCat(name, " needs a value"));
    PENSTOCK_RETURN_IF_ERROR(Apply(name, value, arguments));
  }
  if (arguments.config && !arguments.directory.empty())
    return Wrong(
        "--private and --config exclude each other: a private daemon has no configuration");
  if (arguments.config && arguments.stays)
    return Wrong(
        "--stay and --config exclude each other: the configuration says it by "
        "server.exit_when_idle, whose default is to stay");
  return arguments;
}

}  // namespace penstock::app

#include "client/examples/epoch_options.h"

#include <charconv>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>

namespace penstock::examples {
namespace {

Status Wrong(const std::string& what) {
  return Status(Code::kInvalidArgument, "penstock-example-epoch: " + what + "; see --help");
}

template <typename Number>
Status Parse(const std::string& flag, const std::string& text, uint64_t least, Number* number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  if (error == std::errc() && stop == end && *number >= least) return {};
  return Wrong(flag + ": expected an integer from " + std::to_string(least) + " to " +
               std::to_string(std::numeric_limits<Number>::max()) + ", got '" + text + "'");
}

// Makes a folder's path absolute for the daemon; anything else is a name.
std::string DatasetOf(const std::string& data) {
  std::error_code error;
  if (!std::filesystem::exists(data, error)) return data;
  return std::filesystem::canonical(data, error).string();
}

template <typename Value>
Status Choose(const std::string& flag, const std::map<std::string, Value>& known,
              const std::string& text, Value* value) {
  const auto found = known.find(text);
  if (found == known.end()) return Wrong(flag + ": unknown value '" + text + "'");
  *value = found->second;
  return {};
}

using Setter = std::function<Status(const std::string& text)>;

std::map<std::string, Setter> SettersOf(EpochOptions& options) {
  SessionOptions& session = options.session;
  const auto number = [](const char* flag, uint64_t least, auto* target) -> Setter {
    return [=](const std::string& text) { return Parse(flag, text, least, target); };
  };
  const auto text = [](std::string* target) -> Setter {
    return [=](const std::string& value) {
      *target = value;
      return Status();
    };
  };
  const auto delivery = [&session](const std::string& value) {
    return Choose<Delivery>(
        "--delivery",
        {{"auto", Delivery::kAuto}, {"device", Delivery::kDevice}, {"pinned", Delivery::kPinned}},
        value, &session.delivery);
  };
  const auto handle = [&session](const std::string& value) {
    return Choose<HandleKind>(
        "--handle",
        {{"auto", HandleKind::kAuto}, {"ipc", HandleKind::kIpc}, {"vmm", HandleKind::kVmm}}, value,
        &session.handle);
  };
  return {{"--data", text(&session.dataset)},
          {"--address", text(&options.client.address)},
          {"--device", text(&session.device)},
          {"--delivery", delivery},
          {"--handle", handle},
          {"--seed", number("--seed", 0, &session.seed)},
          {"--batch", number("--batch", 1, &session.batch_size)},
          {"--epochs", number("--epochs", 1, &session.epochs)},
          {"--window", number("--window", 1, &session.window)},
          {"--rank", number("--rank", 0, &session.rank)},
          {"--world", number("--world", 1, &session.world_size)}};
}

}  // namespace

Result<EpochOptions> ParseEpochOptions(int argc, char** argv) {
  EpochOptions options;
  options.session.batch_size = 32;
  options.session.epochs = 1;
  options.session.flip_probability = 0.5;
  options.session.remainder = Remainder::kPartial;
  options.session.name = "penstock-example-epoch";
  const std::map<std::string, Setter> setters = SettersOf(options);
  const std::map<std::string, bool*> switches = {{"--json", &options.json},
                                                 {"--help", &options.help},
                                                 {"--private", &options.client.start_private}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    if (const auto found = switches.find(word); found != switches.end()) {
      *found->second = true;
      continue;
    }
    const auto found = setters.find(flag);
    if (found == setters.end()) return Wrong("unknown option '" + word + "'");
    if (equals == std::string::npos && i + 1 == argc) return Wrong(flag + " needs a value");
    const std::string value = equals == std::string::npos ? argv[++i] : word.substr(equals + 1);
    if (const Status status = found->second(value); !status.ok()) return status;
  }
  if (options.help) return options;
  if (options.session.dataset.empty()) return Wrong("--data is missing");
  if (options.session.rank >= options.session.world_size) {
    return Wrong("--rank must be less than --world");
  }
  options.session.dataset = DatasetOf(options.session.dataset);
  return options;
}

}  // namespace penstock::examples

// penstock-make-photographs DIR [--images N] [--classes N] [--seed N]: makes a small dataset of
// photograph-like JPEGs in folders of classes, to try Penstock without data of one's own. The same
// arguments give the same files. Needs only libjpeg, nothing of Penstock.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client/examples/photograph_files.h"

namespace penstock::examples {
namespace {

constexpr const char* kProgram = "penstock-make-photographs";

[[noreturn]] void Exit(int code, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", kProgram, message.c_str());
  std::exit(code);
}

uint64_t ParseNumber(std::string_view name, std::string_view text, uint64_t low, uint64_t high) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < low || number > high) {
    Exit(2, std::string(name) + ": expected an integer from " + std::to_string(low) + " to " +
                std::to_string(high) + ", got '" + std::string(text) + "'");
  }
  return number;
}

PhotographFiles ParseArguments(int argc, char** argv) {
  PhotographFiles arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--images") {
      arguments.images = static_cast<uint32_t>(ParseNumber(name, value, 1, 1'000'000));
    } else if (name == "--classes") {
      arguments.classes = static_cast<uint32_t>(ParseNumber(name, value, 1, 1'000));
    } else if (name == "--seed") {
      arguments.seed = ParseNumber(name, value, 0, UINT64_MAX);
    } else if (name.substr(0, 1) != "-" && arguments.directory.empty()) {
      arguments.directory = name;
      continue;
    } else {
      Exit(2, "unexpected argument '" + std::string(name) +
                  "'; usage: DIR [--images N] [--classes N] [--seed N]");
    }
    ++i;
  }
  if (arguments.directory.empty())
    Exit(2, "no output directory given; usage: DIR [--images N] [--classes N] [--seed N]");
  return arguments;
}

}  // namespace
}  // namespace penstock::examples

int main(int argc, char** argv) {
  using namespace penstock::examples;
  const std::string trouble = WritePhotographs(ParseArguments(argc, argv));
  if (!trouble.empty()) Exit(1, trouble);
  return 0;
}

// Applies operations of server/augment, and server/decode's resize, to raw images, for tests that
// compare with Pillow.
//
//   penstock-augment-image [ROUNDS]
//
// Standard input is a sequence of requests: a line `OPERATION WIDTH HEIGHT CHANNELS PARAMETER…`,
// then the pixels. For each, standard output gets a line `WIDTH HEIGHT CHANNELS NANOSECONDS` and
// the pixels. The operation is applied ROUNDS times (default 1), each time to the original image;
// the time is the shortest. A request that cannot be read ends the program with exit code 1.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/augment/operations.h"

namespace penstock::augment {
namespace {

constexpr uint64_t kMaxPixels = uint64_t{1} << 28;

struct Request {
  const Operation* operation;
  Size size;
  std::vector<double> parameters;
};

[[noreturn]] void Refuse(const std::string& what) {
  std::cerr << "penstock-augment-image: " << what << "\n";
  std::exit(1);
}

const Operation* Find(const std::string& name) {
  for (const std::span<const Operation> table :
       {ColorOperations(), ResizeOperations(), WarpOperations(), TargetOperations()}) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const Operation& each) { return each.name == name; });
    if (found != table.end()) return &*found;
  }
  Refuse("unknown operation: got '" + name + "'");
}

Request Parse(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  Request request = {};
  words >> name >> request.size.width >> request.size.height >> request.size.channels;
  const Size& size = request.size;
  if (!words || size.width == 0 || size.height == 0 ||
      uint64_t{size.width} * size.height > kMaxPixels ||
      (size.channels != 1 && size.channels != 3)) {
    Refuse("bad request: got '" + line + "'");
  }
  request.operation = Find(name);
  // Python writes the shortest decimal that std::strtod turns into the same double.
  for (std::string word; words >> word;) {
    request.parameters.push_back(std::strtod(word.c_str(), nullptr));
  }
  if (request.parameters.size() != request.operation->parameters) {
    Refuse("wrong number of parameters: got '" + line + "', expected " +
           std::to_string(request.operation->parameters));
  }
  return request;
}

class Image {
 public:
  explicit Image(const Size& size)
      : size_(size), pixels_(size_t{size.width} * size.height * size.channels) {}

  ImageView view() { return {pixels_.data(), size_.width, size_.height, size_.channels}; }
  std::vector<uint8_t>& pixels() { return pixels_; }
  const Size& size() const { return size_; }

 private:
  Size size_;
  std::vector<uint8_t> pixels_;
};

// Returns the time in nanoseconds.
int64_t ApplyOnce(const Request& request, Image& input, Image& output, Scratch& scratch) {
  if (output.pixels().size() == input.pixels().size()) output.pixels() = input.pixels();
  const auto begin = std::chrono::steady_clock::now();
  request.operation->apply(input.view(), output.view(), request.parameters, scratch);
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}

void Answer(const Request& request, int rounds, Scratch& scratch) {
  Image input(request.size);
  std::cin.read(reinterpret_cast<char*>(input.pixels().data()),
                static_cast<std::streamsize>(input.pixels().size()));
  if (!std::cin) Refuse("the input ends within the pixels");
  Image output(request.operation->size(input.view(), request.parameters));
  int64_t best = ApplyOnce(request, input, output, scratch);
  for (int round = 1; round < rounds; ++round) {
    best = std::min(best, ApplyOnce(request, input, output, scratch));
  }
  const Size& size = output.size();
  std::cout << size.width << ' ' << size.height << ' ' << size.channels << ' ' << best << '\n';
  std::cout.write(reinterpret_cast<const char*>(output.pixels().data()),
                  static_cast<std::streamsize>(output.pixels().size()));
  std::cout.flush();
}

int Main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  if (rounds < 1) Refuse(std::string("bad number of rounds: got ") + argv[1]);
  std::ios::sync_with_stdio(false);
  Scratch scratch;
  for (std::string line; std::getline(std::cin, line);) Answer(Parse(line), rounds, scratch);
  return 0;
}

}  // namespace
}  // namespace penstock::augment

int main(int argc, char** argv) { return penstock::augment::Main(argc, argv); }

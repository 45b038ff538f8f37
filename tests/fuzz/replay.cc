// Replaces libFuzzer in builds without it: runs the target once on each file that is an argument or
// in a folder that is one.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void Take(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file),
                                std::istreambuf_iterator<char>()};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// Returns the number of files.
size_t TakeAll(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    Take(path);
    return 1;
  }
  size_t taken = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    Take(entry.path());
    ++taken;
  }
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    size_t taken = 0;
    for (int i = 1; i < argc; ++i) taken += TakeAll(argv[i]);
    std::printf("%zu inputs\n", taken);
    return taken > 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return 1;
  }
}

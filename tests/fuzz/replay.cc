// Replaces libFuzzer in builds without it: runs the target once on each file that is an argument or
// in a folder that is one.
#include <cstdint>
#include <cstdio>
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

}  // namespace

int main(int argc, char** argv) {
  size_t taken = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      Take(argv[i]);
      ++taken;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      Take(entry.path());
      ++taken;
    }
  }
  std::printf("%zu inputs\n", taken);
  return taken > 0 ? 0 : 1;
}

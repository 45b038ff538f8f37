// penstock-test-trainer ADDRESS DATASET MODE: a trainer in a separate process. Without an address
// it looks for a daemon. Modes:
//   take    takes two batches and ends
//   hold    takes two batches, prints "holding", and keeps them until it is killed
//   fork    like hold, but a forked child keeps its sockets open
//   flood   also prints "holding", then takes and releases batches as fast as it can, with a seed
//           of its own, until it is killed
//   large   like flood, with crops that take a worker a hundred times as long as usual
//   compare=FILE, compare-images=FILE (images cropped to 16 × 16)
//           takes an epoch, and fails unless sample i's first tensor is the file's row i
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "client/include/penstock/penstock.h"
#include "tests/support/programs/trainer.h"

namespace {

int CompareWith(penstock::Client& client, const std::string& dataset, const std::string& mode) {
  const size_t equals = mode.find('=');
  std::ostringstream wanted;
  wanted << std::ifstream(mode.substr(equals + 1), std::ios::binary).rdbuf();
  penstock::SessionOptions options;
  options.dataset = dataset;
  options.batch_size = 4;
  options.seed = 7;
  options.epochs = 1;
  if (mode.substr(0, equals) == "compare-images")
    options.center_crop = penstock::ResizeCenterCrop{.resize = 16, .height = 16, .width = 16};
  penstock::Session session = client.Open(options).OrDie();
  const size_t row_bytes = wanted.str().size() / session.samples();
  for (;;) {
    penstock::Result<penstock::Batch> batch = session.Next();
    if (batch.status().code() == penstock::Code::kEndOfEpoch) return 0;
    penstock::Batch taken = std::move(batch).OrDie();
    for (uint32_t row = 0; row < taken.rows(); ++row) {
      const penstock::TensorView view = taken.tensor(0);
      const uint64_t sample = taken.sample_ids()[row];
      if (std::memcmp(view.data + row * view.row_stride, wanted.str().data() + sample * row_bytes,
                      row_bytes) == 0)
        continue;
      std::printf("sample %lu has other bytes\n", static_cast<unsigned long>(sample));
      return 1;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  alarm(60);  // ends this process even if the test hangs
  penstock::Client client = penstock::Client::Connect({.address = argv[1]}).OrDie();
  if (std::strncmp(argv[3], "compare", 7) == 0) return CompareWith(client, argv[2], argv[3]);
  const bool is_large = std::strcmp(argv[3], "large") == 0;
  const bool floods = is_large || std::strcmp(argv[3], "flood") == 0;
  penstock::SessionOptions options = penstock::testing::SmallRows(argv[2], 8);
  if (floods) {
    options.seed = static_cast<uint64_t>(getpid());
    options.window = 32;
    options.epochs = 0;
  }
  if (is_large) {
    options.random_crop->height = options.random_crop->width = 2048;
    options.batch_size = 2;
    options.window = 4;
  }
  penstock::Session session = client.Open(options).OrDie();
  penstock::Batch first = session.Next().OrDie();
  penstock::Batch second = session.Next().OrDie();
  if (std::strcmp(argv[3], "take") == 0) return 0;
  if (std::strcmp(argv[3], "fork") == 0 && fork() == 0) {
    alarm(20);
    close(1);
    for (;;) pause();
  }
  if (write(1, "holding\n", 8) != 8) return 1;
  if (floods) first.Release(), second.Release();
  for (;;) {
    if (floods) {
      (void)session.Next();
    } else {
      pause();
    }
  }
}

// A complete trainer: penstock-example-trainer FOLDER, where FOLDER is an absolute path.
#include <cstdio>
#include <vector>

#include "penstock/penstock.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto client = penstock::Client::Connect({.start_private = true}).OrDie();
  auto session = client.Open({.dataset = argv[1], .batch_size = 32, .epochs = 1}).OrDie();
  penstock::Finish finish = {.mean = {0.485f, 0.456f, 0.406f}, .stddev = {0.229f, 0.224f, 0.225f}};
  std::vector<float> images(32 * 3 * 224 * 224);
  while (auto batch = session.Next()) {
    if (auto status = batch->FinishInto(finish, images.data(), 4 * images.size()); !status.ok())
      Die(status);
    std::printf("step %ju: %u images, first label %jd\n", batch->step(), batch->rows(),
                batch->labels()[0]);
  }
  if (auto end = session.Next().status(); end.code() != penstock::Code::kEndOfData) Die(end);
}

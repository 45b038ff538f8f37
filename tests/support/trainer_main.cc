// penstock-test-trainer ADDRESS DATASET MODE: a trainer in a process of its own. MODE take: takes
// two batches and ends; hold: takes two batches, says "holding", and keeps them until it is killed;
// fork: the same, and a forked child keeps its sockets open; flood: says "holding", too, and takes
// and gives back all that it can get, of a seed of its own, until it is killed. Without an address
// it looks for a daemon.
#include <unistd.h>

#include <cstring>

#include "client/include/penstock/penstock.h"
#include "tests/support/trainer.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  alarm(60);  // whatever happens to the test, this process ends
  penstock::Client client = penstock::Client::Connect({.address = argv[1]}).OrDie();
  const bool floods = std::strcmp(argv[3], "flood") == 0;
  penstock::SessionOptions options = penstock::testing::SmallRows(argv[2], 8);
  if (floods) {
    options.seed = static_cast<uint64_t>(getpid());
    options.window = 32;
    options.epochs = 0;
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
  while (floods) (void)session.Next();
  for (;;) pause();
}

// Connects where no daemon is, and says what the client says.
#include <penstock/penstock.h>

#include <cstdio>

int main(int, char** argv) {
  const auto client = penstock::Client::Connect({.address = argv[1]});
  if (client.ok()) return 1;
  std::printf("no daemon: %s\n", client.status().message().c_str());
  return 0;
}

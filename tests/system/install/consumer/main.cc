// Connects to an address without a daemon and prints the client's error.
#include <penstock/penstock.h>

#include <cstdio>

int main(int, char** argv) {
  const auto client = penstock::Client::Connect({.address = argv[1]});
  if (client.ok()) return 1;
  std::printf("no daemon: %s\n", client.status().message().c_str());
  return 0;
}

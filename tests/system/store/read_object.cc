// Reads objects for store_test.py: read_object [NAME=VALUE]... stat URL
//                                  read_object [NAME=VALUE]... list URL
//                                  read_object [NAME=VALUE]... read URL OFFSET BYTES [TIMES
//                                  THREADS PAUSE_MS]
// NAME: endpoint, region, path_style (0, 1), ca, tries, trying_s, deadline_ms, stall_s. Without an
// endpoint, it is that of the environment. Keys and certificates are those of the environment.
// Prints the status, then for stat "BYTES ETAG", for list the names, for read the bytes in
// hexadecimal (of the last of several), the retries, and how many second requests were sent, and
// were answered first.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/store/client/object_store.h"
#include "server/store/files/key_rings.h"
#include "server/store/files/settings.h"

extern char** environ;

namespace penstock::store {
namespace {

Environment OwnEnvironment() {
  Environment environment;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::vector<std::string> parts = absl::StrSplit(*at, absl::MaxSplits('=', 1));
    if (parts.size() == 2) environment[parts[0]] = parts[1];
  }
  return environment;
}

uint64_t Number(const std::string& text) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) std::abort();
  return number;
}

int Say(const absl::Status& status) {
  std::printf("%s\n", std::string(status.ToString()).c_str());
  return 0;
}

int Run(std::map<std::string, std::string> options, const std::vector<std::string>& words) {
  absl::StatusOr<StoreSettings> settings = ReadStoreSettings(OwnEnvironment());
  if (!settings.ok()) return Say(settings.status());
  Transfers::Options& transfer_options = settings->transfers;
  if (!options["ca"].empty()) transfer_options.ca_file = options["ca"];
  if (!options["stall_s"].empty())
    transfer_options.stall_timeout = std::chrono::seconds(Number(options["stall_s"]));
  const auto curl = Curl::Load();
  if (!curl.ok()) return Say(curl.status());
  Transfers transfers(**curl, transfer_options);
  KeyRings rings([&](TransferRequest request) { return transfers.Perform(std::move(request)); });
  for (PlaceSettings& place : settings->places) {
    StoreAccess& access = place.access;
    const bool is_bucket = place.prefix.scheme == Scheme::kS3 || place.prefix.scheme == Scheme::kGs;
    if (is_bucket && !options["endpoint"].empty()) access.endpoint = options["endpoint"];
    if (!options["region"].empty()) access.region = options["region"];
    if (!options["path_style"].empty()) access.path_style = options["path_style"] == "1";
  }
  ObjectStore::Options store_options;
  store_options.places = rings.PlacesFor(settings->places);
  if (!options["tries"].empty())
    store_options.most_tries = store_options.most_tries_long =
        static_cast<int>(Number(options["tries"]));
  ObjectStore store(transfers, store_options);
  if (!options["trying_s"].empty())
    store_options.longest_trying = std::chrono::seconds(Number(options["trying_s"]));
  const auto address = ParseAddress(words.at(1));
  if (!address.ok()) return Say(address.status());
  if (words[0] == "list") {
    const auto keys = store.List(*address);
    if (!keys.ok()) return Say(keys.status());
    std::printf("OK\n");
    for (const std::string& key : *keys) std::printf("%s\n", key.c_str());
    return 0;
  }
  const auto version = store.Stat(*address);
  if (!version.ok()) return Say(version.status());
  if (words[0] == "stat") {
    std::printf("OK\n%llu %s\n", static_cast<unsigned long long>(version->bytes),
                version->etag.c_str());
    return 0;
  }
  const uint64_t offset = Number(words.at(2)), bytes = Number(words.at(3));
  const uint64_t times = words.size() > 4 ? Number(words[4]) : 1;
  const uint64_t threads = words.size() > 5 ? Number(words[5]) : 1;
  const std::chrono::milliseconds pause(words.size() > 6 ? Number(words[6]) : 0);
  std::vector<std::string> texts(threads);
  std::vector<absl::Status> statuses(threads);
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < threads; ++i)
    readers.emplace_back([&, i] {
      std::string own(bytes, '\0');
      for (uint64_t time = 0; time < times && statuses[i].ok(); ++time) {
        if (time > 0) std::this_thread::sleep_for(pause);
        statuses[i] =
            store.Read(*address, *version, offset, std::as_writable_bytes(std::span(own)));
      }
      texts[i] = own;
    });
  for (std::thread& reader : readers) reader.join();
  for (const absl::Status& status : statuses)
    if (!status.ok()) return Say(status);
  for (const std::string& text : texts)
    if (text != texts[0]) return Say(absl::DataLossError("two threads read different bytes"));
  uint64_t retries = 0;
  for (const uint64_t count : store.retries()) retries += count;
  const TransferCounts counts = transfers.counts();
  std::printf("OK\n%s\n%llu\n%llu %llu\n", absl::BytesToHexString(texts[0]).c_str(),
              static_cast<unsigned long long>(retries),
              static_cast<unsigned long long>(counts.hedges),
              static_cast<unsigned long long>(counts.hedges_first));
  return 0;
}

}  // namespace
}  // namespace penstock::store

int main(int count, char** arguments) {
  std::map<std::string, std::string> options;
  std::vector<std::string> words;
  for (int i = 1; i < count; ++i) {
    const std::vector<std::string> parts = absl::StrSplit(arguments[i], absl::MaxSplits('=', 1));
    if (words.empty() && parts.size() == 2)
      options[parts[0]] = parts[1];
    else
      words.emplace_back(arguments[i]);
  }
  return penstock::store::Run(std::move(options), words);
}

// Keys with which requests are signed. Plain values.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock::store {

// Never write any of it to a log or into a message.
struct StoreKeys {
  std::string key_id = {}, secret = {}, token = {};
  // When the store will refuse them; not set: nobody said.
  std::optional<std::chrono::system_clock::time_point> end = {};

  bool operator==(const StoreKeys& other) const {  // when they end does not make others of them
    return key_id == other.key_id && secret == other.secret && token == other.token;
  }
};

// Null: requests are anonymous. Immutable, so each request shares the keys that it was signed with.
using SharedKeys = std::shared_ptr<const StoreKeys>;

// What decides about credentials: variables of the environment, under their names.
using Environment = std::map<std::string, std::string, std::less<>>;

// The variable's value; empty if it is not set.
inline std::string VariableIn(const Environment& environment, absl::string_view name) {
  const auto found = environment.find(std::string_view(name.data(), name.size()));
  return found == environment.end() ? "" : found->second;
}

}  // namespace penstock::store

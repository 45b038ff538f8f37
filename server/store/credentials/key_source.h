// Where keys come from.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"
#include "server/store/client/transfer.h"
#include "server/store/credentials/store_keys.h"

namespace penstock::store {

// Sends one request and waits for its answer.
using AskServer = std::function<TransferAnswer(TransferRequest)>;

struct KeysFound {
  SharedKeys keys = {};   // null: there are none, so requests are anonymous
  std::string from = {};  // who gave them, or why there are none; for messages
  // kFixed: they never change. kFile: they may at any time. kServer: when they end. kAbsent: there
  // are none now, so they are looked for again if a store refuses a request.
  enum class KeyKind { kFixed, kFile, kServer, kAbsent };
  KeyKind kind = KeyKind::kFixed;
};

// One way to get keys. **Thread safety**: used by one thread at a time.
class KeySource {
 public:
  virtual ~KeySource() = default;
  // Gets the keys anew. Waits for files, or some seconds for servers.
  // **Errors**: Unavailable: try again; others say what to mend. No message holds a secret.
  virtual absl::StatusOr<KeysFound> Fetch() = 0;
};

}  // namespace penstock::store

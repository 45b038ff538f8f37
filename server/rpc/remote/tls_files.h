// The files of mutual TLS: what the operators' port shows, and whose clients it admits.
// **Thread safety**: functions may be called on any thread; a TlsFiles by one at a time.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::rpc {

// Absolute paths of PEM files.
struct TlsPaths {
  std::string certificate;  // this node's, followed by intermediate ones
  std::string key;          // its private key, not encrypted
  std::string client_ca;    // the authorities whose clients are admitted
};

// Their contents.
struct TlsTexts {
  std::string certificate, key, client_ca;
};

// Reads all three. **Errors**: name the configuration key and the file, and say what is wrong: it
// cannot be read, is larger than 1 MiB, or has no PEM block of its kind.
absl::StatusOr<TlsTexts> ReadTls(const TlsPaths& paths);

// Notices that the files have been renewed.
class TlsFiles {
 public:
  explicit TlsFiles(TlsPaths paths) : paths_(std::move(paths)) {}

  // Whether a file differs in identity, size or time from when this was called last; true the first
  // time. A missing file counts as a version of its own.
  bool HaveChanged();
  absl::StatusOr<TlsTexts> Read() const { return ReadTls(paths_); }

 private:
  const TlsPaths paths_;
  std::vector<uint64_t> seen_;
};

}  // namespace penstock::rpc

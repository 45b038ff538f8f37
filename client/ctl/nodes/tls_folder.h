// The operator's files of mutual TLS.
#pragma once

#include <string>

#include "common/base/status.h"

namespace penstock::ctl {

// Contents of PEM files.
struct OperatorTls {
  std::string ca;           // the authorities that signed the nodes' certificates
  std::string certificate;  // the operator's
  std::string key;
};

// Reads ca.crt, tls.crt and tls.key, which is what a Kubernetes secret of type kubernetes.io/tls
// becomes as a folder. `folder`: empty for $PENSTOCK_TLS. **Errors**: InvalidArgument says which
// file is missing and how to name the folder.
absl::StatusOr<OperatorTls> ReadOperatorTls(const std::string& folder);

}  // namespace penstock::ctl

#include "client/ctl/nodes/tls_folder.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::ctl {
namespace {

constexpr size_t kLargestPem = 1 << 20;

absl::StatusOr<std::string> ReadPemFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestPem, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (absl::StrContains(text, "-----BEGIN ")) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ",
                   !file.is_open() ? "cannot be read"
                   : text.empty()  ? "is empty"
                                   : "is not in PEM",
                   "; --tls FOLDER or $PENSTOCK_TLS names a folder with ca.crt, tls.crt and "
                   "tls.key"));
}

}  // namespace

absl::StatusOr<OperatorTls> ReadOperatorTls(const std::string& folder) {
  const char* const variable = std::getenv("PENSTOCK_TLS");
  const std::string at = !folder.empty() || variable == nullptr ? folder : variable;
  if (at.empty())
    return absl::InvalidArgumentError(
        "a daemon on another machine is asked over mutual TLS; --tls FOLDER or $PENSTOCK_TLS names "
        "a folder with ca.crt, tls.crt and tls.key");
  OperatorTls tls;
  PENSTOCK_ASSIGN_OR_RETURN(tls.ca, ReadPemFile(at + "/ca.crt"));
  PENSTOCK_ASSIGN_OR_RETURN(tls.certificate, ReadPemFile(at + "/tls.crt"));
  PENSTOCK_ASSIGN_OR_RETURN(tls.key, ReadPemFile(at + "/tls.key"));
  return tls;
}

}  // namespace penstock::ctl

#include "server/store/client/transfer_status.h"

#include "absl/strings/str_cat.h"

namespace penstock::store {

absl::Status ToTransferStatus(const Curl& curl, CURLcode code) {
  const absl::string_view why = curl.easy_strerror(code);
  switch (code) {
    case CURLE_OK:
      return absl::OkStatus();
    case CURLE_URL_MALFORMAT:
      return absl::InvalidArgumentError(why);
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::FailedPreconditionError(
          "it redirects to another kind of URL, or from https to http, which is not followed");
    case CURLE_TOO_MANY_REDIRECTS:
      return absl::FailedPreconditionError("it redirects more than five times");
    case CURLE_PEER_FAILED_VERIFICATION:
      return absl::FailedPreconditionError(
          absl::StrCat("the server's certificate is not trusted, or is for another name (", why,
                       "); to trust its authority, name a file with its certificate by "
                       "AWS_CA_BUNDLE, or by `ca` in the configuration"));
    case CURLE_SSL_CACERT_BADFILE:
      return absl::FailedPreconditionError(absl::StrCat(
          "the file with certificates to trust (AWS_CA_BUNDLE, or `ca`) cannot be used: ", why));
    case CURLE_OUT_OF_MEMORY:  // also of a header that is longer than libcurl's limit
      return absl::UnavailableError(
          "the headers of the server's answer are too long, or there is no memory for them");
    default:
      return absl::UnavailableError(why);
  }
}

}  // namespace penstock::store

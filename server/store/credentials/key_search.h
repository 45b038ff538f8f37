// Which keys are to be used: one source, or those of the environment in the order of Amazon's SDKs.
#pragma once

#include <memory>

#include "server/store/credentials/key_source.h"
#include "server/store/credentials/store_keys.h"

namespace penstock::store {

struct KeySpec {
  enum class From {
    kNowhere,      // requests are anonymous
    kSearch,       // the first source that there is; see MakeKeySource
    kHmac,         // GCS_KEY and GCS_SECRET; without them requests are anonymous
    kProfile,      // a profile's own keys, or its role by web identity
    kMetadata,     // as MakeMetadataKeys
    kContainer,    // as MakeContainerKeys
    kWebIdentity,  // as MakeWebIdentityKeys
  };
  From from = From::kNowhere;
  Environment environment = {};  // the variables that the source looks at

  auto operator<=>(const KeySpec&) const = default;
};

// kSearch looks for, in this order, and anew at each Fetch: AWS_ACCESS_KEY_ID with
// AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN); AWS_WEB_IDENTITY_TOKEN_FILE; the profile; a
// container's role; the instance's, unless AWS_EC2_METADATA_DISABLED is true. If there is none of
// them, requests are anonymous; PENSTOCK_STORE_ANONYMOUS=1 makes them so without a search. A source
// that is named but gives no keys is an error, and so are instance metadata that gave keys before.
std::unique_ptr<KeySource> MakeKeySource(const KeySpec& spec, AskServer ask);

}  // namespace penstock::store

// Keys that servers give: the instance's metadata, a container's server, STS.
#pragma once

#include <memory>

#include "common/base/status.h"
#include "server/store/credentials/key_source.h"
#include "server/store/credentials/profiles.h"
#include "server/store/credentials/store_keys.h"

namespace penstock::store {

// The role of the EC2 instance, by version 2 of its metadata: a token by PUT, the role's name, its
// keys. AWS_EC2_METADATA_SERVICE_ENDPOINT and AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE say where.
// Never through a proxy. An answer may take a second, and is tried for twice.
// **Errors**: FailedPrecondition: a variable is wrong, or the instance has no role; Unavailable
// with what may be the reason.
absl::StatusOr<std::unique_ptr<KeySource>> MakeMetadataKeys(const Environment& environment,
                                                            AskServer ask);

// Whether AWS_EC2_METADATA_DISABLED is true.
bool IsMetadataDisabled(const Environment& environment);

// The role of a container (ECS, EKS Pod Identity): AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, or
// AWS_CONTAINER_CREDENTIALS_FULL_URI, with AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, which is read
// anew each time, or AWS_CONTAINER_AUTHORIZATION_TOKEN. Never through a proxy. Over http only this
// machine, 169.254.170.2, 169.254.170.23 and fd00:ec2::23 are asked, so that the token is not sent
// elsewhere. **Errors**: FailedPrecondition: neither variable is set, or one is wrong.
absl::StatusOr<std::unique_ptr<KeySource>> MakeContainerKeys(const Environment& environment,
                                                             AskServer ask);

// The role AWS_ROLE_ARN, for the token in AWS_WEB_IDENTITY_TOKEN_FILE, which is read anew each time
// because Kubernetes replaces it; AWS_ROLE_SESSION_NAME. STS is asked at AWS_ENDPOINT_URL_STS, else
// AWS_ENDPOINT_URL, else Amazon's in AWS_REGION or AWS_DEFAULT_REGION.
// **Errors**: FailedPrecondition: a variable is missing or wrong.
absl::StatusOr<std::unique_ptr<KeySource>> MakeWebIdentityKeys(const Environment& environment,
                                                               AskServer ask);
// The same for a profile with web_identity_token_file and role_arn.
absl::StatusOr<std::unique_ptr<KeySource>> MakeWebIdentityKeys(const Profile& profile,
                                                               const Environment& environment,
                                                               AskServer ask);

}  // namespace penstock::store

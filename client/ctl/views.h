// Prints the daemon's answers for people: tables and short lines. Pure.
#pragma once

#include <string>

#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

std::string Show(const v1::GetStatusResponse& status);
std::string Show(const v1::ListSessionsResponse& sessions);
std::string Show(const v1::ListWorkersResponse& workers);
std::string Show(const v1::ListDatasetsResponse& datasets);
std::string Show(const v1::ListQuarantineResponse& quarantine);
std::string Show(const v1::ClearQuarantineResponse& cleared);

// Protobuf's own JSON: indented, with every field, under the names of the .proto files, with one
// newline at the end. Fingerprints and digests are 16 hexadecimal digits.
std::string Json(const google::protobuf::Message& message);

}  // namespace penstock::ctl

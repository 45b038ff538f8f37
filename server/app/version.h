// The version of this build.
#pragma once

namespace penstock::app {

#ifndef PENSTOCK_VERSION
#define PENSTOCK_VERSION "0.1.0"
#endif
inline constexpr char kVersion[] = PENSTOCK_VERSION;

}  // namespace penstock::app

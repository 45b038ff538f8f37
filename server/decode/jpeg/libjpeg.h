// libjpeg's headers, which expect that their user has named FILE and size_t before.
#pragma once

// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jpegint.h>  // what libjpeg's parts are to each other
// clang-format on

// libjpeg's headers, which require that FILE and size_t are already declared.
#pragma once

// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jpegint.h>  // the interfaces between libjpeg's modules
// clang-format on

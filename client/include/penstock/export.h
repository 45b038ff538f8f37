// Marks the symbols that libpenstock.so exports; all others are hidden.
#pragma once

#define PENSTOCK_EXPORT __attribute__((visibility("default")))

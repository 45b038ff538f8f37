// What libpenstock.so shows: everything else in it is hidden.
#pragma once

#define PENSTOCK_EXPORT __attribute__((visibility("default")))

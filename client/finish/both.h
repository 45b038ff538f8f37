// Marks functions that run on the CPU and on the GPU.
#pragma once

#ifdef __CUDACC__
#define PENSTOCK_BOTH __host__ __device__
#else
#define PENSTOCK_BOTH
#endif

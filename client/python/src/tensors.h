// Tensors of batches for Python: descriptions, NumPy views, and destinations.
//
// **Requires**: the GIL in every call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::python {

// Addresses and a cudaStream_t are passed as integers, as frameworks provide them (data_ptr,
// cuda_stream).
using Address = uintptr_t;

// (index into the session's tensors, name of the type, address, bytes, address for the lengths or
// 0)
using TensorDestination = std::tuple<uint32_t, std::string, Address, uint64_t, Address>;

std::vector<TensorInto> ToInto(const std::vector<TensorDestination>& destinations);

DType DTypeNamed(const std::string& name);
nanobind::dlpack::dtype DlpackType(DType type);

// [(name, name of the type, shape of a row, whether its length varies)]
nanobind::list ToTensorList(const std::vector<Field>& fields);

// A read-only view of host memory that keeps the lease alive: (values, lengths or None). bfloat16,
// which NumPy lacks, arrives as uint16.
nanobind::tuple ViewOf(nanobind::handle lease, const Field& field, size_t tensor);

// A tensor of a batch in GPU memory: (address, bytes from row to row, address of the lengths or 0).
using Placed = std::tuple<Address, uint64_t, Address>;

// A layout for tensors in one block of memory, and its size.
struct TensorPlan {
  std::vector<TensorInto> into = {};
  std::vector<Placed> placed = {};
  size_t bytes = 0;
};
// `wanted`: (index into the session's tensors, name of the type). Addresses are offsets, from
// `begin` on.
TensorPlan PlanTensors(const Session& session,
                       const std::vector<std::tuple<uint32_t, std::string>>& wanted, size_t begin);
// Turns the offsets into addresses.
void Settle(TensorPlan& plan, std::byte* memory);

}  // namespace penstock::python

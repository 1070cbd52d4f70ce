// gloo_layout.cpp: guards third_party/gloo/include, which declares gloo's types without their members.
// LibTorch's own build of ProcessGroupGloo has this size (checked against gloo's real headers); another size
// here would mean that we construct it in too little memory.  tests/unit/dist runs collectives through it.
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

static_assert(sizeof(c10d::ProcessGroupGloo) == 488,
              "third_party/gloo/include does not fit this LibTorch: ProcessGroupGloo has another size");

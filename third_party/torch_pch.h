// torch_pch.h: what the engine's files share of LibTorch, precompiled.  Not <torch/torch.h>: its modules and
// optimizers, which nothing here uses, cost every file 4 seconds more.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

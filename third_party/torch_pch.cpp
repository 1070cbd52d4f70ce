// The anchor of the precompiled <torch/torch.h>.

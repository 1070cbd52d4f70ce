// The anchor of the precompiled torch_pch.h.

// sentencepiece_plugin.h: the C functions of libtrainctl_sentencepiece.so.  No C++ type and no memory
// crosses: results go to callbacks before the function returns.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
typedef void (*TrainctlBytes)(void* to, const char* bytes, size_t size);
typedef void (*TrainctlIds)(void* to, const int* ids, size_t count);

/// A handle; null, with the reason given to `fail`, where the model cannot be read.
void* trainctl_sentencepiece_open(const char* path, TrainctlBytes fail, void* to);
void trainctl_sentencepiece_close(void* handle);
int trainctl_sentencepiece_vocab_size(void* handle);
/// Both may be called from any thread.  Returns whether it worked; else the callback gets the reason
/// (decode), or is not called (encode).
bool trainctl_sentencepiece_encode(void* handle, const char* text, size_t size, TrainctlIds give, void* to);
bool trainctl_sentencepiece_decode(void* handle, const int* ids, size_t count, TrainctlBytes give, void* to);
}

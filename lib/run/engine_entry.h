// engine_entry.h: the only door in the torch wall.  `trainctl` finds libtrainctl_engine.so beside itself
// (bin/ and lib/ of one prefix), loads it with dlopen, and calls this one C function.
#pragma once

extern "C" {
/// verb     "worker": run the trial in folder `argument`; "generate": print sampled text, `argument` is a
/// JSON
///          object (train/worker.h)
/// returns  an exit code (util/diagnostic.h).  Catches everything; prints errors to stderr itself.
typedef int (*TrainctlEngineMain)(const char* verb, const char* argument);
int trainctl_engine_main(const char* verb, const char* argument);
}

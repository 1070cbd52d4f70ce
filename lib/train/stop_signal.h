// stop_signal.h: SIGTERM and SIGINT ask for an end after the current step; the second one ends at once.
#pragma once

namespace trainctl::train {

void watch_stop_signals();
/// The signal that came, or 0.
int stop_signal();

}  // namespace trainctl::train

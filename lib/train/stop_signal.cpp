#include "train/stop_signal.h"

#include <csignal>
#include <initializer_list>

namespace trainctl::train {
namespace {
volatile std::sig_atomic_t received = 0;
}  // namespace

void watch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { received = signal; };
  // Reset: the second signal finds the default action.  Restart: reads and writes of ours never see EINTR.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
}

int stop_signal() { return received; }

}  // namespace trainctl::train

#include "launch/console.h"

#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "launch/process.h"
#include "util/clock.h"

namespace trainctl::launch {

namespace {

constexpr int64_t kPlainStatusEvery_ns = 10'000'000'000;

bool can_write(int fd) {
  pollfd one{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&one, 1, 0) == 1;
}

bool is_capable_terminal(int fd) {
  const char* const term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb" && ::isatty(fd) == 1;
}

}  // namespace

bool Console::color_wanted(int fd) { return std::getenv("NO_COLOR") == nullptr && is_capable_terminal(fd); }

Console::Options Console::detect(int fd, bool verbose) {
  Options options{.fd = fd, .columns = 0, .verbose = verbose, .now_ns = monotonic_ns};
  winsize size{};
  if (is_capable_terminal(fd)) {
    options.columns = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
  return options;
}

void Console::put(std::string_view text) {
  if (!gone_) queue_.append(text);
}

void Console::line(std::string_view text) {
  const bool redraw = options_.columns > 0 && !status_.empty();
  std::string out = redraw ? "\r\033[K" : "";
  out.append(text);
  out += '\n';
  if (redraw) out += status_;
  put(out);
}

void Console::status(std::string_view text) {
  if (options_.verbose) return line(text);
  if (options_.columns > 0) {
    // One column short: a full last column would wrap on some terminals.
    status_ = text.substr(0, static_cast<size_t>(options_.columns - 1));
    return put("\r\033[K" + status_);
  }
  status_ = text;
  const int64_t now = options_.now_ns();
  held_ = shown_ns_ != INT64_MIN && now - shown_ns_ < kPlainStatusEvery_ns;
  if (held_) return;
  shown_ns_ = now;
  put(status_ + "\n");
}

void Console::end_status() {
  if (options_.columns > 0 && !status_.empty()) put("\n");
  if (held_) put(status_ + "\n");
  status_.clear();
  held_ = false;
  shown_ns_ = INT64_MIN;
}

bool Console::flush_some() {
  // A pipe or terminal that can be written takes PIPE_BUF bytes without blocking.
  size_t sent = 0;
  while (sent < queue_.size() && can_write(options_.fd)) {
    const ssize_t n =
        ::write(options_.fd, queue_.data() + sent, std::min<size_t>(queue_.size() - sent, PIPE_BUF));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {  // the reader is gone or the disk full: training goes on, the log files hold everything
      gone_ = true;
      sent = queue_.size();
      break;
    }
    sent += static_cast<size_t>(n);
  }
  queue_.erase(0, sent);
  return queue_.empty();
}

void Console::finish() {
  constexpr int kPatience_ms = 5000;
  while (!flush_some()) {
    pollfd one{.fd = options_.fd, .events = POLLOUT, .revents = 0};
    if (::poll(&one, 1, kPatience_ms) == 0) queue_.clear();
  }
}

}  // namespace trainctl::launch

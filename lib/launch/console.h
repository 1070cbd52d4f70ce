// console.h: what the user sees while workers run, on standard error: plain lines, and one status line that
// is overwritten on a terminal.  Elsewhere a status becomes a plain line every 10 s, so that a log stays
// short.
//
// Nothing here blocks until finish(): what the terminal does not take yet waits in a queue, and the agent
// stops reading from its workers while that queue is full().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace trainctl::launch {

class Console {
 public:
  struct Options {
    int fd = 2;
    int columns = 0;       // of the terminal, for the overwritten status line; 0: plain lines
    bool verbose = false;  // every status as a line of its own
    std::function<int64_t()> now_ns;
  };
  /// For file descriptor `fd`: the status line only where it is a terminal that understands it (TERM).
  static Options detect(int fd, bool verbose);

  /// Colour: only on a terminal, unless NO_COLOR or TERM=dumb say otherwise.
  static bool color_wanted(int fd);

  explicit Console(Options options) : options_(std::move(options)) {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void line(std::string_view text);
  void status(std::string_view text);
  /// The status is over: on a terminal it stays as the last line, elsewhere the last one held back is shown.
  void end_status();

  /// Writes what can be written without waiting.  True when all is out.
  bool flush_some();
  /// Waits until all is out, but not forever: a terminal that is held (Ctrl-S) loses the rest.
  void finish();
  bool behind() const { return !queue_.empty(); }
  bool full() const { return queue_.size() >= kMaxQueue; }
  bool verbose() const { return options_.verbose; }

 private:
  static constexpr size_t kMaxQueue = 256 * 1024;
  void put(std::string_view text);

  Options options_;
  std::string queue_;
  std::string status_;            // on the screen now, or held back
  bool held_ = false;             // status_ was not shown yet
  int64_t shown_ns_ = INT64_MIN;  // when the last status became a plain line
  bool gone_ = false;             // nobody reads any more: the terminal was closed
};

}  // namespace trainctl::launch

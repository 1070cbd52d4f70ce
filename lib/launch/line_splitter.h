// line_splitter.h: a stream of bytes as lines.  Memory stays bounded: a longer line comes out in pieces.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::launch {

class LineSplitter {
 public:
  static constexpr size_t kMaxLine = 16 * 1024;

  /// Calls on_line(std::string_view), without the newline, for every line that `bytes` completes.
  template <class OnLine>
  void feed(std::string_view bytes, OnLine on_line) {
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      part_.append(bytes.substr(0, end));
      if (end != std::string_view::npos || part_.size() >= kMaxLine) {
        on_line(std::string_view(part_));
        part_.clear();
      }
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
    }
  }

  /// The stream has ended: hands out an unterminated last line.
  template <class OnLine>
  void finish(OnLine on_line) {
    if (!part_.empty()) on_line(std::string_view(part_));
    part_.clear();
  }

 private:
  std::string part_;
};

}  // namespace trainctl::launch

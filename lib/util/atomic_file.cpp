#include "util/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "util/diagnostic.h"
#include "util/fd.h"

namespace trainctl {

namespace {

[[noreturn]] void fail(const char* doing, const std::filesystem::path& path) {
  throw InfraError("cannot " + std::string(doing) + " " + path.string() + ": " + std::strerror(errno),
                   errno == ENOSPC || errno == EDQUOT ? "free some space on this disk" : "");
}

void write_all(const Fd& fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void write_new(const std::filesystem::path& temporary, std::string_view bytes, Durability durability) {
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) fail("create", temporary);
  write_all(fd, bytes, temporary);
  if (durability == Durability::kSynced && ::fsync(fd.get()) != 0) fail("sync", temporary);
  if (fd.close() != 0) fail("write", temporary);  // some file systems report a full disk only here
}

void sync_folder(const std::filesystem::path& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) fail("open", folder);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) fail("sync", folder);  // EINVAL: this file system has none
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes, Durability durability) {
  std::filesystem::path temporary = path;
  temporary += ".tmp-" + std::to_string(::getpid());
  ::unlink(temporary.c_str());  // left by a process of the same id that was killed here
  try {
    write_new(temporary, bytes, durability);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail("write", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (durability == Durability::kSynced) {
    sync_folder(path.has_parent_path() ? path.parent_path() : std::filesystem::path("."));
  }
}

std::optional<std::string> read_file_if_present(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (fd.get() < 0) fail("read", path);
  std::string bytes;
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace trainctl

// atomic_file.h: files that are either whole or not there, and reading a small file at once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl {

/// kSynced: the content survives a power cut after the call returns (fsync of the file and of its folder).
/// kNotSynced: for what may be lost with the machine; costs microseconds instead of a disk's flush.
enum class Durability { kSynced, kNotSynced };

/// Replaces `path` by `bytes`: a reader, also after a crash, sees the old content or all of the new, never a
/// part.  Writes a new file beside it and renames.  Throws InfraError (disk full, no permission), leaving no
/// temporary file behind.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                           Durability durability = Durability::kSynced);

/// The whole file, or nullopt where there is none.  Throws InfraError when it is there and cannot be read.
std::optional<std::string> read_file_if_present(const std::filesystem::path& path);

}  // namespace trainctl

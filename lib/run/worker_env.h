// worker_env.h: the environment that the launcher gives a worker, torchrun's names first.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trainctl::run {

/// Who this worker is.  TRAINCTL_STORE_FD: rank 0 serves the rendezvous store on this inherited listening
/// socket, whose port is MASTER_PORT; so no port is chosen twice.
struct WorkerEnv {
  int rank = 0, local_rank = 0, world_size = 1, local_world_size = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  int store_fd = -1;                  // TRAINCTL_STORE_FD; -1: this rank is a client only
  int attempt = 0;                    // TRAINCTL_ATTEMPT
  std::filesystem::path attempt_dir;  // TRAINCTL_ATTEMPT_DIR: logs and error files go here
  int64_t exec_ns = 0;                // TRAINCTL_EXEC_NS: CLOCK_MONOTONIC just before exec
};

std::vector<std::string> to_environment(const WorkerEnv& env);  // NAME=value, also RANK, OMP-free
WorkerEnv worker_env_from_process();                            // throws UserError naming a missing variable

}  // namespace trainctl::run

#include "stages/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "run/worker_env.h"
#include "spec/load.h"

namespace trainctl::stages {

namespace {

/// The variables of one rank.  What is known at its start only says so.
std::vector<std::string> environment(const launch::GroupPlan& plan, int rank) {
  std::vector<std::string> variables = run::to_environment({.rank = rank,
                                                            .local_rank = rank,
                                                            .world_size = plan.num_workers,
                                                            .local_world_size = plan.num_workers,
                                                            .store_fd = rank == 0 ? 0 : -1,
                                                            .attempt = plan.attempt,
                                                            .attempt_dir = plan.attempt_dir});
  for (std::string& variable : variables) {
    for (const char* const late : {"MASTER_PORT=", "TRAINCTL_STORE_FD=", "TRAINCTL_EXEC_NS="}) {
      if (variable.starts_with(late)) variable = std::string(late) + "(set at start)";
    }
  }
  variables.insert(variables.end(), plan.environment.begin(), plan.environment.end());
  return variables;
}

template <class OnTrial>
void each_trial(const run::Job& job, std::span<const Stage* const> stages, OnTrial on_trial) {
  for (const Stage* const stage : stages) {
    for (const run::Trial& trial : stage->plan(job)) on_trial(*stage, trial, launch::plan_group(trial, {0}));
  }
}

}  // namespace

std::string plan_text(const run::Job& job, std::span<const Stage* const> stages) {
  std::string text = spec::to_yaml(job.spec);
  each_trial(job, stages, [&](const Stage& stage, const run::Trial& trial, const launch::GroupPlan& plan) {
    text += fmt::format("\n# stage {}, trial {}: {} process{}, {} steps\n#   folder   {}\n#   command  {}\n",
                        stage.name, trial.name, plan.num_workers, plan.num_workers == 1 ? "" : "es",
                        trial.spec.train.steps, trial.dir.string(), fmt::join(plan.command, " "));
    for (int rank = 0; rank < plan.num_workers; ++rank) {
      text += fmt::format("#   rank {}   {}\n", rank, fmt::join(environment(plan, rank), " "));
    }
  });
  return text;
}

std::string plan_json(const run::Job& job, std::span<const Stage* const> stages) {
  using Json = nlohmann::ordered_json;
  Json trials = Json::array();
  each_trial(job, stages, [&](const Stage& stage, const run::Trial& trial, const launch::GroupPlan& plan) {
    Json ranks = Json::array();
    for (int rank = 0; rank < plan.num_workers; ++rank) {
      ranks.push_back({{"rank", rank}, {"environment", environment(plan, rank)}});
    }
    trials.push_back({{"stage", stage.name},
                      {"trial", trial.name},
                      {"dir", trial.dir.string()},
                      {"steps", trial.spec.train.steps},
                      {"command", plan.command},
                      {"ranks", std::move(ranks)}});
  });
  const Json document = {{"schema", "trainctl.plan/1"},
                         {"job", job.spec.name},
                         {"run_dir", job.dir.root.string()},
                         {"spec_yaml", spec::to_yaml(job.spec)},
                         {"trials", std::move(trials)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trainctl::stages

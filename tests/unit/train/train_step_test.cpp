#include "train/train_step.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <mutex>

#include "fakes.h"
#include "support/on_ranks.h"
#include "train/not_finite.h"

using namespace trainctl;  // NOLINT: a test
using test::batch_of;

namespace {

constexpr int64_t kVocab = 11;
constexpr int64_t kIgnore = 10;

/// One step's gradients and loss, with an optimizer that takes no step of any size.
struct Seen {
  at::Tensor gradient;
  double loss = 0, norm = 0;
};

spec::JobSpec job(int64_t accumulate, int64_t ignore_index) {
  spec::JobSpec spec;
  spec.train.accumulate = accumulate;
  spec.data.ignore_index = ignore_index;
  spec.optimizer.clip_norm = 0;
  return spec;
}

double mean_loss(const train::StepStats& stats) {
  return stats.totals[train::kLossSum].item<double>() /
         std::max(1.0, stats.totals[train::kNumTargets].item<double>());
}

Seen one_step(const spec::JobSpec& spec, dist::Group& group, std::deque<feed::Batch> batches) {
  test::Bigram model(kVocab);
  train::TrainStep step(spec, model, group, at::kCPU);
  test::ListedBatches stream(std::move(batches));
  const auto stats = step.run(stream, 0, false);
  return {model.parameters()[0].tensor.grad().clone(), mean_loss(stats),
          stats.gradient_norm.total.item<double>()};
}

/// The same targets as one batch, the loss a plain mean: autograd's own answer.
Seen reference(const std::vector<int64_t>& tokens, const std::vector<int64_t>& targets) {
  test::Bigram model(kVocab);
  const at::Tensor logits = model.forward(torch::tensor(tokens)).to(torch::kFloat64);
  const at::Tensor loss =
      at::cross_entropy_loss(logits, torch::tensor(targets), {}, at::Reduction::Mean, kIgnore);
  loss.backward();
  return {model.parameters()[0].tensor.grad(), loss.item<double>()};
}

std::unique_ptr<dist::Group> alone() {
  const auto backend = device::make_backend("cpu", 0, 1);
  return dist::Group::join({}, *backend, 1);
}

// fp32 sums of at most a few dozen terms of size 1 and below.
void check_close(const Seen& a, const Seen& b) {
  CHECK(a.loss == Approx(b.loss).epsilon(1e-6));
  CHECK((a.gradient - b.gradient).abs().max().item<double>() < 1e-6);
}

}  // namespace

TEST_CASE("uneven micro-batches weigh every target alike", "[train]") {
  const auto group = alone();
  // Lengths 4, 1 and 0 of counted targets.
  const auto seen = one_step(job(3, kIgnore), *group,
                             {batch_of({1, 2, 3, 4}, {5, 6, 7, 8}, kIgnore),
                              batch_of({1, 2, 9, 4}, {kIgnore, 3, kIgnore, kIgnore}, kIgnore),
                              batch_of({6, 6, 6, 6}, {kIgnore, kIgnore, kIgnore, kIgnore}, kIgnore)});
  check_close(seen, reference({1, 2, 3, 4, 2}, {5, 6, 7, 8, 3}));
}

TEST_CASE("even micro-batches give the gradient of one big batch", "[train]") {
  const auto group = alone();
  const auto seen =
      one_step(job(2, -100), *group, {batch_of({1, 2}, {3, 4}, -100), batch_of({5, 2}, {9, 1}, -100)});
  check_close(seen, reference({1, 2, 5, 2}, {3, 4, 9, 1}));
}

TEST_CASE("a step without a counted target gives loss 0 and finite zero gradients", "[train]") {
  const auto group = alone();
  const auto seen = one_step(job(1, kIgnore), *group, {batch_of({1, 2}, {kIgnore, kIgnore}, kIgnore)});
  CHECK(seen.loss == 0);
  CHECK(seen.norm == 0);
  CHECK(seen.gradient.abs().max().item<double>() == 0);
}

TEST_CASE("two ranks with 5 and 1 counted targets get the gradient of one process", "[train]") {
  std::vector<Seen> seen(2);
  test::on_ranks(2, [&](dist::Group& group) {
    const auto batch = group.rank() == 0
                           ? batch_of({1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}, kIgnore)
                           : batch_of({7, 7, 7, 7, 7}, {kIgnore, kIgnore, 8, kIgnore, kIgnore}, kIgnore);
    seen[group.rank()] = one_step(job(1, kIgnore), group, {batch});
  });
  const Seen expected = reference({1, 2, 3, 4, 5, 7}, {2, 3, 4, 5, 6, 8});
  for (const Seen& rank : seen) check_close(rank, expected);
}

TEST_CASE("a NaN on one rank stops the update on all and names parameter and batch", "[train]") {
  struct Rank {
    bool unchanged_after_bad = false, unchanged_after_good = false, moved_before = false;
    std::string text;
  };
  std::vector<Rank> ranks(2);
  test::on_ranks(2, [&](dist::Group& group) {
    spec::JobSpec spec = job(1, -100);
    spec.optimizer.lr = 0.1;
    test::Bigram model(kVocab);
    train::TrainStep step(spec, model, group, at::kCPU);
    const at::Tensor table = model.parameters()[0].tensor;
    const int64_t sample = group.rank() + 4;
    const feed::Batch batch = batch_of({group.rank() + 1, 5}, {1, 2}, -100, sample);
    test::ListedBatches stream({batch, batch, batch});
    Rank& mine = ranks[group.rank()];

    const at::Tensor start = table.detach().clone();
    step.run(stream, 0, false);
    mine.moved_before = !torch::equal(start, table);
    const at::Tensor good_row = table.detach()[2].clone();
    {
      const at::NoGradGuard no_grad;
      table[2].fill_(std::numeric_limits<float>::quiet_NaN());  // only rank 1's batch reads row 2
    }
    const at::Tensor before = table.detach().clone();
    const auto stats = step.run(stream, 1, false);
    mine.unchanged_after_bad = at::allclose(before, table.detach(), 0, 0, /*equal_nan=*/true);
    mine.text = train::describe_not_finite(stats, step.parameters(), group, at::kCPU);
    {
      const at::NoGradGuard no_grad;
      table[2].copy_(good_row);
    }
    const at::Tensor healed = table.detach().clone();
    step.run(stream, 2, false);  // finite again; `stop` still holds everything still
    mine.unchanged_after_good = torch::equal(healed, table.detach());
  });
  CHECK(ranks[0].text == ranks[1].text);
  for (const Rank& rank : ranks) {
    CHECK(rank.moved_before);
    CHECK(rank.unchanged_after_bad);
    CHECK(rank.unchanged_after_good);
    CHECK_THAT(rank.text, Catch::Contains("step 1 is not finite: the gradient of `table`"));
    CHECK_THAT(rank.text, Catch::Contains("rank 1: loss sum nan, samples 5 to 5 (file.bin:640)"));
    CHECK_THAT(rank.text, !Catch::Contains("rank 0"));
  }
}

TEST_CASE("with skip the next finite step is applied again", "[train]") {
  const auto group = alone();
  spec::JobSpec spec = job(1, -100);
  spec.optimizer.on_nonfinite = spec::NonFinite::kSkip;
  spec.optimizer.lr = 0.1;
  test::Bigram model(kVocab);
  train::TrainStep step(spec, model, *group, at::kCPU);
  const at::Tensor bias = model.parameters()[1].tensor;
  test::ListedBatches stream({batch_of({1}, {2}, -100), batch_of({3}, {2}, -100)});
  {
    const at::NoGradGuard no_grad;
    model.parameters()[0].tensor[1].fill_(std::numeric_limits<float>::infinity());
  }
  CHECK(step.run(stream, 0, false).not_finite.item<float>() == 1);
  CHECK(bias.abs().max().item<float>() == 0);
  CHECK(step.run(stream, 1, false).not_finite.item<float>() == 0);
  CHECK(bias.abs().max().item<float>() > 0);
}

TEST_CASE("a signal on one rank is seen by all in the same step", "[train]") {
  std::vector<double> requests(2);
  test::on_ranks(2, [&](dist::Group& group) {
    test::Bigram model(kVocab);
    const spec::JobSpec spec = job(1, -100);
    train::TrainStep step(spec, model, group, at::kCPU);
    test::ListedBatches stream({batch_of({1}, {2}, -100)});
    const auto stats = step.run(stream, 0, /*stop_requested=*/group.rank() == 1);
    requests[group.rank()] = stats.totals[train::kStopRequests].item<double>();
  });
  CHECK(requests == std::vector<double>{1, 1});
}

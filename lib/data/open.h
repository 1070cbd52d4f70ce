// open.h: a job's data, opened: what is trained on and what is held out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"
#include "data/source.h"
#include "spec/job_spec.h"
#include "util/diagnostic.h"

namespace trainctl::data {

struct Datasets {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> held_out;  // null where the job has neither `data.eval` nor `data.holdout`
  Source train_source, eval_source;
  std::string list_hash;  // of all files; equal on all ranks, or they do not see the same data
};

/// What the model takes and gives, as far as data must know.
struct ModelNeeds {
  bool tokens = true;
  int64_t seq_len = 0, vocab_size = 0;  // tokens
  std::vector<int64_t> dims;            // else: of a sample; empty dims are taken from the files
  int64_t num_classes = 0;
};
/// From a resolved spec.  Throws UserError naming the key that is missing.
ModelNeeds model_needs(const spec::JobSpec& job);

/// Opens everything a resolved job names, headers and sizes checked.  Errors and warnings go into `found`;
/// with an error in it the datasets may be null.  `tokenize`: see source.h.
Datasets open_datasets(const spec::JobSpec& job, bool tokenize, std::vector<Diagnostic>& found);

/// The same; throws UserError with all errors found.
Datasets open_datasets(const spec::JobSpec& job);

/// The order of the training samples; throws UserError where an epoch would hold no micro-batch.
Sampler make_sampler(const spec::JobSpec& job, const Dataset& train);

}  // namespace trainctl::data

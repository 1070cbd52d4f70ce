#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <optional>

#include "model/families.h"
#include "model/stored_dtype.h"
#include "model/weights.h"
#include "storage/safetensors.h"
#include "util/diagnostic.h"

namespace trainctl::model {
namespace {

using storage::StoredTensor;

/// Stored tensors by the model's names, and what does not fit.
struct Match {
  std::map<std::string, const StoredTensor*> found;
  std::vector<const StoredTensor*> unexpected;
  std::vector<std::string> notes;
};

bool is_ignored(const Family& family, const std::string& name) {
  for (const std::string_view suffix : family.ignored_suffixes)
    if (name.ends_with(suffix)) return true;
  return false;
}

/// `wanted`: every name that the model has, and those of its tied heads.
Match match(const storage::SafetensorsSet& stored, const std::map<std::string, at::Tensor>& wanted,
            const Family& family) {
  Match m;
  size_t passed_over = 0;
  for (const StoredTensor* tensor : stored.tensors()) {
    const std::string with_prefix = std::string(family.base_prefix) + tensor->name;
    if (wanted.contains(tensor->name))
      m.found[tensor->name] = tensor;
    else if (wanted.contains(with_prefix))
      m.found[with_prefix] = tensor;
    else if (is_ignored(family, tensor->name))
      ++passed_over;
    else
      m.unexpected.push_back(tensor);
  }
  if (passed_over > 0)
    m.notes.push_back(fmt::format("passed over {} constants of an old file of weights ({})", passed_over,
                                  fmt::join(family.ignored_suffixes, ", ")));
  // A file that stores a tied tensor once says in its metadata under which other name it is also known.
  for (const auto& [alias, kept] : stored.metadata())
    if (wanted.contains(alias) && !m.found.contains(alias) && m.found.contains(kept))
      m.found[alias] = m.found[kept];
  return m;
}

std::vector<std::string> names_of(const std::vector<const StoredTensor*>& tensors) {
  std::vector<std::string> names;
  for (const StoredTensor* tensor : tensors) names.push_back(tensor->name);
  return names;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates,
                         std::string otherwise) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? std::move(otherwise) : fmt::format("`{}` is near", near);
}

/// Why `stored` cannot become `meta`, or nullopt.
std::optional<std::string> misfit(const StoredTensor& stored, const at::Tensor& meta) {
  if (at::IntArrayRef(stored.shape) != meta.sizes())
    return fmt::format("`{}` has the shape [{}], the model's is [{}]", stored.name,
                       fmt::join(stored.shape, ", "), fmt::join(meta.sizes(), ", "));
  const std::optional<at::ScalarType> dtype = scalar_type(stored.dtype);
  const bool fits =
      dtype && (meta.is_floating_point() ? at::isFloatingType(*dtype) : *dtype == meta.scalar_type());
  if (!fits)
    return fmt::format("`{}` is {}, which does not become {}", stored.name, storage::name_of(stored.dtype),
                       c10::toString(meta.scalar_type()));
  return std::nullopt;
}

/// The stored values, cast to `meta`'s dtype, in new memory on `device`: the only copy.
at::Tensor copy_of(const StoredTensor& stored, const at::Tensor& meta, at::Device device) {
  const at::ScalarType dtype = scalar_type(stored.dtype).value();
  at::Tensor value = at::empty(meta.sizes(), meta.options().device(device));
  const bool aligned = reinterpret_cast<uintptr_t>(stored.bytes.data()) % c10::elementSize(dtype) == 0;
  if (aligned) {
    value.copy_(at::from_blob(const_cast<std::byte*>(stored.bytes.data()), stored.shape, dtype));
  } else {
    at::Tensor bounce = at::empty(stored.shape, dtype);
    std::memcpy(bounce.mutable_data_ptr(), stored.bytes.data(), stored.bytes.size());
    value.copy_(bounce);
  }
  return value;
}

bool same_values(const StoredTensor& a, const StoredTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

/// Every reason not to load, at once.
std::vector<Diagnostic> problems(const Match& m, const std::map<std::string, at::Tensor>& wanted,
                                 const Model& model, const std::string& file) {
  const auto problem = [&](std::string what, std::string help) {
    return Diagnostic{.at = {.file = file}, .what = std::move(what), .help = std::move(help)};
  };
  std::map<std::string, std::string> tied;
  for (const auto& [alias, kept] : model.tied()) tied[alias] = kept;

  std::vector<Diagnostic> all;
  std::vector<std::string> missing;
  for (const auto& [name, meta] : wanted)
    if (!m.found.contains(name) && !tied.contains(name)) missing.push_back(name);
  const std::vector<std::string> unexpected = names_of(m.unexpected);
  for (const std::string& name : missing)
    all.push_back(
        problem(fmt::format("`{}` is missing", name),
                did_you_mean(name, unexpected, "the file is of another model, or model.* differs from it")));
  for (const std::string& name : unexpected)
    all.push_back(
        problem(fmt::format("`{}` is not a tensor of the model", name),
                did_you_mean(name, missing, "the file is of another model, or model.* differs from it")));
  for (const auto& [name, stored] : m.found)
    if (const auto why = misfit(*stored, wanted.at(name)))
      all.push_back(problem(*why, "set model.* to the sizes that the file was trained with"));
  for (const auto& [alias, kept] : tied)
    if (m.found.contains(alias) && m.found.contains(kept) &&
        !same_values(*m.found.at(alias), *m.found.at(kept)))
      all.push_back(problem(fmt::format("`{}` differs from `{}`, which the model ties it to", alias, kept),
                            "set model.tied_embeddings to false"));
  return all;
}

}  // namespace

std::vector<std::string> load_weights(Model& model, const spec::ModelSpec& spec, at::Device device) {
  const at::NoGradGuard no_grad;
  const storage::SafetensorsSet stored(spec.init_from);
  const std::vector<NamedTensor> parameters = model.parameters(), buffers = model.buffers();
  std::map<std::string, at::Tensor> wanted;
  for (const auto& [name, tensor] : parameters) wanted[name] = tensor;
  for (const auto& [name, tensor] : buffers) wanted[name] = tensor;
  for (const auto& [alias, kept] : model.tied()) wanted[alias] = wanted.at(kept);

  Match m = match(stored, wanted, family_of(spec));
  if (auto all = problems(m, wanted, model, spec.init_from); !all.empty()) throw UserError(std::move(all));

  const auto copies = [&](const std::vector<NamedTensor>& named) {
    std::vector<at::Tensor> values;
    for (const auto& [name, meta] : named) values.push_back(copy_of(*m.found.at(name), meta, device));
    return values;
  };
  model.set_tensors(copies(parameters), copies(buffers));
  return m.notes;
}

}  // namespace trainctl::model

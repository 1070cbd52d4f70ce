#pragma once
#include <gloo/gloo_decls.h>

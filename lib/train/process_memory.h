// process_memory.h: this process's memory as the kernel counts it, in MB of 2^20.
#pragma once

namespace trainctl::train {

double rss_mb();       // now
double peak_rss_mb();  // the largest so far (VmHWM)

}  // namespace trainctl::train

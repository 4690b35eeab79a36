// A library that has nothing of NVML.
int nothing_of_nvml;

// CUDA's driver and runtime on the host: device memory is malloc's, copies are memmove, kernels are shared libraries that
// host_cupy.py compiles by g++.  Work is done before a call returns, so waits only count.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

enum { LAUNCHES, ALLOCATIONS, TO_DEVICE, TO_HOST, WAITS, COUNTERS };
static long counted[COUNTERS];

extern "C" {
uint3 host_threadIdx, host_blockIdx, host_blockDim, host_gridDim;

long host_counter(int which) { return counted[which]; }

// Threads of a block run one after another; where a kernel has barriers, each is a fiber that leaves at a barrier.
static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static std::vector<char> ended;
static unsigned current;
static bool in_fiber;
static void (*entry)(void**);
static void** arguments;

static void fiber_body() {
  entry(arguments);
  ended[current] = 1;
}

void host_barrier() {
  if (in_fiber) swapcontext(&fibers[current], &scheduler);
}

static uint3 thread_of(unsigned number, dim3 block) {
  return {number % block.x, number / block.x % block.y, number / (block.x * block.y)};
}

static void run_plain(dim3 block) {
  for (unsigned t = 0; t < block.x * block.y * block.z; ++t) {
    host_threadIdx = thread_of(t, block);
    entry(arguments);
  }
}

static void run_fibers(dim3 block) {
  const size_t stack = 65536;
  const unsigned threads = block.x * block.y * block.z;
  static std::vector<char> stacks;
  if (stacks.size() < stack * threads) stacks.resize(stack * threads);
  fibers.resize(threads);
  ended.assign(threads, 0);
  for (unsigned t = 0; t < threads; ++t) {
    getcontext(&fibers[t]);
    fibers[t].uc_stack.ss_sp = &stacks[stack * t];
    fibers[t].uc_stack.ss_size = stack;
    fibers[t].uc_link = &scheduler;
    makecontext(&fibers[t], fiber_body, 0);
  }
  in_fiber = true;
  bool backwards = false;  // every second time, so that fewer missing barriers pass unseen
  for (bool left = true; left; backwards = !backwards) {
    left = false;
    for (unsigned k = 0; k < threads; ++k) {
      current = backwards ? threads - 1 - k : k;
      if (ended[current]) continue;
      host_threadIdx = thread_of(current, block);
      swapcontext(&scheduler, &fibers[current]);
      left |= !ended[current];
    }
  }
  in_fiber = false;
}

struct Kernel {
  void (*entry)(void**);
  bool barriers;
};

// ---- driver
CUresult cuGetErrorName(CUresult, const char** s) { *s = "CUDA_ERROR_ON_THE_HOST"; return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** s) { *s = "an error of the host device"; return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* c) { *c = (CUcontext)1; return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* d) { *d = 0; return CUDA_SUCCESS; }
CUresult cuStreamGetCtx(CUstream, CUcontext* c) { *c = (CUcontext)1; return CUDA_SUCCESS; }

CUresult cuModuleLoadData(CUmodule* module, const void* path) {  // an image is the path of a shared library
  *module = (CUmodule)dlopen((const char*)path, RTLD_NOW | RTLD_LOCAL);
  if (!*module) fprintf(stderr, "host device: %s\n", dlerror());
  return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuModuleLoad(CUmodule* module, const char* path) { return cuModuleLoadData(module, path); }
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  void* found = dlsym((void*)module, (std::string("host_entry_") + name).c_str());
  if (!found) return CUDA_ERROR_NOT_FOUND;
  const bool* barriers = (const bool*)dlsym((void*)module, "host_has_barriers");
  *function = (CUfunction) new Kernel{(void (*)(void**))found, !barriers || *barriers};
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned, CUstream, void** given, void**) {
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> guard(one_at_a_time);
  const Kernel* kernel = (const Kernel*)function;
  ++counted[LAUNCHES];
  entry = kernel->entry;
  arguments = given;
  host_gridDim = {gx, gy, gz};
  host_blockDim = {bx, by, bz};
  for (unsigned z = 0; z < gz; ++z)
    for (unsigned y = 0; y < gy; ++y)
      for (unsigned x = 0; x < gx; ++x) {
        host_blockIdx = {x, y, z};
        kernel->barriers ? run_fibers({bx, by, bz}) : run_plain({bx, by, bz});
      }
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* v, CUfunction_attribute a, CUfunction) {
  *v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, CUfunction, int, size_t) { *n = 2; return CUDA_SUCCESS; }
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction, CUoccupancyB2DSize, size_t, int) {
  *grid = 1;
  *block = 128;
  return CUDA_SUCCESS;
}

// ---- runtime: the device
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorOnTheHost"; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the host device"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) { *v = 13000; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { *v = 13000; return cudaSuccess; }
cudaError_t cudaGetDevice(int* d) { *d = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) { *n = 1; return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { ++counted[WAITS]; return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {  // as of a chip with two multiprocessors of compute capability 9.0
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrMultiProcessorCount: *value = 2; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxThreadsPerBlock: case cudaDevAttrMaxBlockDimX: *value = 1024; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 233472; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = 65536; break;
    default: *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  memset(p, 0, sizeof *p);
  strcpy(p->name, "host");
  p->major = 9;
  p->multiProcessorCount = 2;
  p->warpSize = 32;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = 1024;
  p->maxGridSize[0] = 2147483647;
  p->sharedMemPerBlock = 49152;
  p->totalGlobalMem = 8ull << 30;
  return cudaSuccess;
}

// ---- runtime: memory, new memory full of NaNs
cudaError_t cudaMalloc(void** p, size_t n) {
  ++counted[ALLOCATIONS];
  *p = aligned_alloc(512, (n + 511) / 512 * 512);
  if (!*p) return cudaErrorMemoryAllocation;
  memset(*p, 0xFF, n);
  return cudaSuccess;
}
cudaError_t cudaMallocManaged(void** p, size_t n, unsigned) { return cudaMalloc(p, n); }
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) { return cudaMalloc(p, n); }
cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return cudaMalloc(p, n); }
cudaError_t cudaFree(void* p) { free(p); return cudaSuccess; }
cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
cudaError_t cudaMemGetInfo(size_t* left, size_t* total) { *left = *total = 8ull << 30; return cudaSuccess; }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  memset(a, 0, sizeof *a);
  a->type = cudaMemoryTypeDevice;
  a->devicePointer = (void*)p;
  return cudaSuccess;
}

static void count(cudaMemcpyKind kind) {
  counted[TO_DEVICE] += kind == cudaMemcpyHostToDevice;
  counted[TO_HOST] += kind == cudaMemcpyDeviceToHost;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  count(kind);
  memmove(to, from, n);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, n, kind);
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t n) {
  return cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t n, cudaStream_t) {
  return cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                         cudaMemcpyKind kind) {
  count(kind);
  for (size_t i = 0; i < rows; ++i) memmove((char*)to + i * to_pitch, (const char*)from + i * from_pitch, width);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t rows, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, rows, kind);
}
cudaError_t cudaMemset(void* p, int value, size_t n) { memset(p, value, n); return cudaSuccess; }
cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t) { return cudaMemset(p, value, n); }

// ---- runtime: streams and events
static size_t handles = 100;
cudaError_t cudaStreamCreate(cudaStream_t* s) { *s = (cudaStream_t)++handles; return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return cudaStreamCreate(s); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) { return cudaStreamCreate(s); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { ++counted[WAITS]; return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* c) {
  *c = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { *e = (cudaEvent_t)++handles; return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { ++counted[WAITS]; return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { *ms = 1; return cudaSuccess; }
}

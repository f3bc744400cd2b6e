// NVRTC without CUDA: host_cupy.py compiles a program by g++, and its machine code is the path of a library.
#include <cstddef>
#include <cstring>
#include <string>

struct Program {
  std::string source, code, log;
};
typedef int (*Compiler)(const char* source, Program* program);
static Compiler compiler;

static int copy(const std::string& text, char* to) {
  memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

extern "C" {
void host_nvrtc_compiler(Compiler given) { compiler = given; }
void host_nvrtc_result(Program* program, const char* code, const char* log) {
  program->code = code;
  program->log = log;
}

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 999;  // no version of NVRTC: code kept under it is never taken for a GPU's
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char**, const char**) {
  *program = new Program{source};
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return 0;
}
int nvrtcCompileProgram(Program* program, int, const char**) { return compiler(program->source.c_str(), program); }
int nvrtcGetProgramLogSize(Program* program, size_t* size) { *size = program->log.size() + 1; return 0; }
int nvrtcGetProgramLog(Program* program, char* log) { return copy(program->log, log); }
int nvrtcGetCUBINSize(Program* program, size_t* size) { *size = program->code.size() + 1; return 0; }
int nvrtcGetCUBIN(Program* program, char* code) { return copy(program->code, code); }
}

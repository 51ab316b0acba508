#!/bin/bash
# setup_test.sh CASE: one test of tools/setup, in the current (empty) folder.
#
# checkout/ gets the real scripts, a package list and tiny wheels. stubs/ comes first in PATH and stands in for apt,
# dpkg, id, cmake and ninja; each call is noted in calls. pip is the real one, with the tiny wheels as its only source.
set -u
top=$PWD
mkdir -p checkout/tools stubs wheels elsewhere
cp "$SOURCE_DIR"/tools/{setup,run,test} checkout/tools/
cp "$SOURCE_DIR"/CMakePresets.json checkout/
printf '# needed\nalpha\nbeta # why\ngamma-dev\n' > checkout/tools/packages.txt
: > calls

fail() {
  echo "FAILED: $*" >&2
  for file in out err calls; do
    echo "--- $file" >&2
    cat "$top/$file" >&2
  done
  exit 1
}
stub() {  # NAME, body on standard input
  { echo '#!/bin/bash'; echo "echo \"${1##*/} \$*\" >> '$top/calls'"; cat; } > "stubs/$1"
  chmod +x "stubs/$1"
}
# call EXIT_CODE COMMAND…, with out and err left behind
call() {
  local want=$1 got
  shift
  (cd elsewhere && PATH=$top/stubs:$PATH "$@") > out 2> err < "${input:-/dev/null}"
  got=$?
  [[ $got == "$want" ]] || fail "$* ended with $got, not $want"
}
says() { grep -qF -- "$1" err || fail "standard error lacks: $1"; }
called() { grep -qE -- "$1" calls || fail "was not called: $1"; }
not_called() { ! grep -qE -- "$1" calls || fail "was called: $1"; }
silent() { [[ ! -s out ]] || fail "standard output should be empty"; }

stub dpkg-query <<< "printf 'installed %s\n' alpha beta gamma-dev"
stub apt-get <<< 'echo noise'
stub id <<< 'echo 0'
stub nvcc <<< 'exit 1'
# Does what the set-up relies on: leaves a build folder, and links to the libraries in it.
stub cmake << 'STUB'
for word; do case $word in -DTRAINLAB_TORCH_DIR=*) torch=${word#*=} ;; esac; done
cat > /dev/null  # must not take what is meant for the program
mkdir -p build/release/lib/trainlab build/release/bin
ln -sf "$torch"/lib/libtorch_cpu.so build/release/lib/trainlab/
: > build/release/build.ninja
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" > build/release/CMakeCache.txt
echo noise
STUB
stub ninja << 'STUB'
cat > /dev/null
[[ " $* " != *' -n '* ]] || { [[ ! -e $2/bin/trainlab ]] || echo 'ninja: no work to do.'; exit; }
printf '#!/bin/bash\necho "in $PWD:" "${@@Q}"\n! IFS= read -r line || echo "read $line"\nexit 5\n' > "$2/bin/trainlab"
chmod +x "$2/bin/trainlab"
echo noise
STUB
unset TRAINLAB_TORCH CUDA_HOME CUDA_PATH
export PIP_NO_INDEX=1 PIP_FIND_LINKS=$top/wheels PIP_DISABLE_PIP_VERSION_CHECK=1

# A LibTorch of version $2 in folder $1, as far as the set-up looks at it.
torch_folder() {
  mkdir -p "$1/lib" "$1/include/torch/headeronly"
  : > "$1/lib/libtorch_cpu.so"
  : > "$1/lib/libc10.so"
  local IFS=. part
  # shellcheck disable=SC2206
  local -a number=($2) name=(MAJOR MINOR PATCH)
  for part in 0 1 2; do
    echo "#define TORCH_VERSION_${name[part]} ${number[part]}"
  done > "$1/include/torch/headeronly/version.h"
}
# wheels/ with tiny wheels of the real names, wheels.txt with their hashes. libtorch_cpu.so is a real library that
# says that it needs the two CUDA ones.
wheels() {
  local folder=$top/wheel-parts
  mkdir -p "$folder/cuda" "$folder/torch"
  echo 'void f(void) {}' > "$folder/empty.c"
  for name in cudart cupti; do
    cc -shared -Wl,-soname,lib$name.so.13 -o "$folder/cuda/lib$name.so.13" "$folder/empty.c" || fail "no C compiler"
  done
  cc -shared -Wl,--no-as-needed -o "$folder/torch/libtorch_cpu.so" "$folder/empty.c" "$folder"/cuda/*.so.13 ||
    fail "no C compiler"
  python3 - "$folder" "$top/wheels" "$top/checkout/tools/wheels.txt" << 'PYTHON' || fail "cannot make wheels"
import hashlib, pathlib, sys, zipfile
parts, wheels, listed = map(pathlib.Path, sys.argv[1:])
def wheel(name, version, tags, files):
    stem = f"{name.replace('-', '_')}-{version}"
    path = wheels / f"{stem}-{tags}.whl"
    info = f"{stem}.dist-info/"
    with zipfile.ZipFile(path, "w") as out:
        for file, data in files.items():
            out.writestr(file, data)
        out.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        out.writestr(info + "WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tags}\n")
        out.writestr(info + "RECORD", "")
        out.writestr(info + "licenses/LICENSE", "free")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
cuda = "nvidia/cu13/lib/"
lines = [
    wheel("torch", "2.11.0", "cp311-cp311-manylinux_2_28_x86_64", {
        "torch/include/ATen/core/Tensor.h": "//", "torch/version.py": "", "torch/lib/libc10.so": "c10",
        "torch/lib/libgomp.so.1": "gomp", "torch/lib/libtorch_cuda.so": "not wanted",
        "torch/lib/libtorch_cpu.so": (parts / "torch/libtorch_cpu.so").read_bytes()}),
    wheel("nvidia-cuda-runtime", "13.0.96", "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64",
          {cuda + "libcudart.so.13": (parts / "cuda/libcudart.so.13").read_bytes()}),
    wheel("nvidia-cuda-cupti", "13.0.85", "py3-none-manylinux_2_25_x86_64",
          {cuda + "libcupti.so.13": (parts / "cuda/libcupti.so.13").read_bytes()}),
]
listed.write_text("# what is fetched\n" + "\n".join(lines) + "\n")
PYTHON
}
# For tests that are not about fetching, which takes a second or more.
use_given() {
  torch_folder given 2.11.0
  : > checkout/tools/wheels.txt
  export TRAINLAB_TORCH=$top/given
}
setup=$top/checkout/tools/setup
run=$top/checkout/tools/run
deps=$top/checkout/.deps

case_wrong_torch() {
  wheels
  torch_folder given 2.10.1
  TRAINLAB_TORCH=$top/given call 2 "$setup"
  says "TRAINLAB_TORCH=$top/given is LibTorch 2.10.1, but trainlab needs 2.11"
  [[ $(wc -l < err) == 1 ]] || fail "one line would do"
  silent
  not_called 'cmake|ninja'
}
case_no_torch() {
  wheels
  mkdir given
  TRAINLAB_TORCH=$top/given call 2 "$setup"
  says "TRAINLAB_TORCH=$top/given is no LibTorch 2.11"
  TRAINLAB_TORCH=$top/missing call 2 "$setup"
  says "TRAINLAB_TORCH=$top/missing is no LibTorch 2.11"
  not_called cmake
}
# The folder itself, a folder of Python packages, a Python environment; nothing is fetched.
case_given_torch() {
  wheels
  torch_folder env/lib/python3.12/site-packages/torch 2.11.0
  local given
  for given in env env/lib/python3.12/site-packages env/lib/python3.12/site-packages/torch; do
    : > calls
    TRAINLAB_TORCH=$top/$given call 0 "$setup"
    called "^cmake .*-DTRAINLAB_TORCH_DIR=$top/env/lib/python3.12/site-packages/torch$"
  done
  [[ ! -e $deps/torch && ! -e $deps/download ]] || fail "fetched what was given"
}
case_packages_as_user() {
  use_given
  rm -f stubs/sudo
  stub id <<< 'echo 1000'
  stub dpkg-query <<< "printf 'installed beta\nconfig-files gamma-dev\n'; exit 1"
  # A PATH without sudo: links to all else that is in it.
  mkdir path
  local folder
  for folder in /usr/bin /bin; do ln -sf "$folder"/* path/; done
  rm -f path/sudo
  PATH=$top/path call 2 "$setup"
  says '2 Debian packages are missing; as root, type'
  says '  apt-get update && apt-get install --no-install-recommends alpha gamma-dev'
  silent
  not_called '^apt-get|cmake'
}
# Where there is no dpkg, the programs that a build starts are looked for.
case_no_compiler() {
  use_given
  mkdir path
  ln -s /usr/bin/{bash,env,readlink,mkdir,flock,id} path/
  rm stubs/{dpkg-query,apt-get,ninja}
  CXX=no-compiler PATH=$top/path call 2 "$setup"
  says 'missing: ninja no-compiler; install what tools/packages.txt names'
  CXX='flock g++' PATH=$top/path call 2 "$setup"  # a program that calls the compiler, and is there
  says 'missing: ninja; install what tools/packages.txt names'
  silent
  not_called cmake
}
case_packages_with_sudo() {
  use_given
  stub id <<< 'echo 1000'
  stub sudo <<< 'exit 9'
  stub dpkg-query <<< "printf 'installed beta\n'"
  call 2 "$run" recipe.lua
  says 'missing; type'
  says '  sudo apt-get update && sudo apt-get install --no-install-recommends alpha gamma-dev'
  silent
  not_called 'sudo|^apt-get|cmake'
}
case_packages_as_root() {
  use_given
  stub dpkg-query <<< "printf 'installed beta\n'"
  stub apt-get <<< '[[ $* != *update* ]] || exit 100'
  call 100 "$setup"
  says 'apt-get update failed (above); without a network, install these packages by other means first'
  stub apt-get <<< '[[ $* == *update* ]] && echo "Err:1 http://debian bookworm InRelease"; exit 0'
  call 1 "$setup"
  says 'Err:1 http://debian bookworm InRelease'
  says "none of apt's package sources answers (above); without a network, install these packages by other means first"
  not_called '^apt-get .*install|cmake'
  stub apt-get <<< 'echo Get:1 noise; cat > /dev/null'
  call 0 "$setup"
  called '^apt-get .*update$'
  called '^apt-get .*install -y --no-install-recommends alpha gamma-dev$'
  silent
}
case_fetches_once() {
  wheels
  call 0 "$setup"
  silent
  says 'fetching LibTorch'
  [[ -f $deps/torch/include/ATen/core/Tensor.h && -s $deps/torch/lib/libtorch_cpu.so ]] || fail "not unpacked"
  [[ -e $deps/torch/licenses/LICENSE ]] || fail "no licence"
  [[ ! -e $deps/torch/lib/libtorch_cuda.so ]] || fail "unpacked more than is needed"
  [[ -z $(ls "$deps/download") ]] || fail "wheels are left"
  rm -r wheels
  : > calls
  call 0 "$setup"
  not_called 'cmake|dpkg-query|-j'
  [[ $(wc -l < err) == 1 ]] || fail "the second call has something to say"
}
# A wheel that was fetched before an interruption is taken; one that is incomplete is not.
case_goes_on() {
  wheels
  mkdir -p "$deps/download/torch" "$deps/torch.new/lib" "$deps/download/partial/x"
  : > "$deps/torch.new/lib/left-over"
  mv wheels/torch-*.whl "$deps/download/torch/"
  call 0 "$setup"
  [[ ! -e $deps/torch/lib/left-over ]] || fail "kept what an interrupted unpacking left"

  rm -rf checkout/.deps checkout/build wheels
  mkdir -p wheels "$deps/download/torch"
  wheels
  head -c 100 wheels/torch-*.whl > "$deps/download/torch/torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl"
  call 0 "$setup"
}
case_broken_wheel() {
  wheels
  sed -i 's/^\(torch.*sha256:\)..../\10000/' checkout/tools/wheels.txt
  call 1 "$setup"
  says 'fetching torch failed'
  says 'TRAINLAB_TORCH=DIR'
  [[ ! -e $deps/torch ]] || fail "used a wheel with another hash"
}
# A CUDA toolkit's libraries are used where they are.
case_toolkit() {
  wheels
  mkdir -p toolkit/lib64 toolkit/extras/CUPTI/lib64
  cp wheel-parts/cuda/libcudart.so.13 toolkit/lib64/
  cp wheel-parts/cuda/libcupti.so.13 toolkit/extras/CUPTI/lib64/
  rm wheels/nvidia*
  CUDA_HOME=$top/toolkit call 0 "$setup"
  [[ $(readlink "$deps/cuda/lib/libcudart.so.13") == "$top/toolkit/lib64/libcudart.so.13" ]] || fail "cudart"
  [[ $(readlink "$deps/cuda/lib/libcupti.so.13") == "$top/toolkit/extras/CUPTI/lib64/libcupti.so.13" ]] || fail "cupti"
}
# Arguments, working directory, standard input, standard output and exit code are the program's.
case_runs_program() {
  use_given
  echo 'a line' > input
  for _ in 1 2; do
    input=input call 5 "$run" a 'b c' ''
    [[ $(< out) == "in $top/elsewhere: 'a' 'b c' ''"$'\nread a line' ]] || fail "not what the program writes"
  done
  [[ ! -s err ]] || fail "the second call has something to say"
  mkdir links
  ln -s "$run" links/lab
  call 5 "$top/links/lab"
}
case_build_fails() {
  use_given
  cp stubs/ninja kept
  stub ninja <<< '[[ " $* " == *" -n "* ]] || exit 3'
  call 3 "$run" x
  says 'building failed'
  silent
  stub df <<< 'echo blocks; echo "disk 4000 3950 50 99% /"'
  call 3 "$run" x
  says "$top/checkout has only 50 MB free; with 2 GB, the next call goes on from there"
  rm stubs/df
  mv kept stubs/ninja
  : > calls
  call 5 "$run" x
  not_called cmake
}
case_configure_fails() {
  use_given
  cp stubs/cmake kept
  stub cmake <<< 'echo the reason; exit 4'
  call 4 "$run" x
  says 'the reason'
  silent
  mv kept stubs/cmake
  call 5 "$run" x
}
case_interrupted() {
  use_given
  cp stubs/ninja kept
  stub ninja << 'STUB'
[[ " $* " != *' -n '* ]] || exit
kill -INT $PPID
exit 2
STUB
  call 130 "$run" x
  says 'interrupted; the next call goes on from here'
  mv kept stubs/ninja
  : > calls
  call 5 "$run" x
  not_called cmake
}
case_two_at_once() {
  use_given
  cp stubs/cmake kept
  { cat kept; echo 'sleep 1'; } > stubs/cmake
  (cd elsewhere && PATH=$top/stubs:$PATH "$run" first) > out1 2> err1 < /dev/null &
  local first=$!
  until grep -q cmake calls; do sleep 0.05; done
  call 5 "$run" second
  says 'another set-up of this checkout is at work'
  wait $first
  [[ $(< out1) == *first* && $(< out) == *second* ]] || fail "one of them did not run"
  [[ $(grep -c '^cmake' calls) == 1 ]] || fail "the second did again what the first had done"
  # The program does not hold the lock: here the first one runs on while the second starts.
  printf '#!/bin/bash\nsleep 5 & echo $!; wait\n' > checkout/build/release/bin/trainlab
  (cd elsewhere && PATH=$top/stubs:$PATH exec "$run" long) > out2 2> err2 < /dev/null &
  until [[ -s out2 ]]; do sleep 0.05; done
  printf '#!/bin/bash\nexit 0\n' > checkout/build/release/bin/trainlab
  call 0 timeout 3 "$run" short
  kill "$(< out2)"
}
case_moved() {
  use_given
  call 0 "$setup"
  mv checkout moved
  call 0 "$top/moved/tools/setup"
  called '^cmake --fresh'
}
# Somebody else's checkout; a test as root can only let a file lie where a folder is needed.
case_not_writable() {
  use_given
  : > "$deps"
  call 2 "$setup"
  says "cannot write $deps (above): all that is fetched and built goes into the checkout"
  silent
  not_called 'cmake|ninja'
}
# What is to be done is told, and nothing is done.
case_checks() {
  wheels
  stub dpkg-query <<< "printf 'installed beta\n'"
  call 1 "$run" --check
  says 'packages: 2 are missing: alpha gamma-dev'
  says 'LibTorch: to be fetched (531 MB)'
  says 'build: not begun'
  silent
  not_called 'apt-get|cmake|ninja'
  [[ ! -e $deps && ! -e checkout/build ]] || fail "something was made"

  stub dpkg-query <<< "printf 'installed %s\n' alpha beta gamma-dev"
  call 0 "$setup"
  cp stubs/ninja kept
  stub ninja <<< 'echo "[1/8] a"; echo "[8/8] b"'
  call 1 "$run" --check
  says 'packages: all there'
  says 'LibTorch: there'
  says 'build: 8 steps, about 1 min at most'
  mv kept stubs/ninja
  : > calls
  call 0 "$run" --check
  says 'build: up to date'
  not_called 'cmake|-j'

  torch_folder given 2.10.1
  TRAINLAB_TORCH=$top/given call 2 "$run" --check
  says 'is LibTorch 2.10.1, but trainlab needs 2.11'
}
case_removed_torch() {
  wheels
  call 0 "$setup"
  rm -rf "$deps/torch"
  call 0 "$setup"
  [[ -s $deps/torch/lib/libtorch_cpu.so ]] || fail "not fetched again"
}

"case_${1:?a case}"

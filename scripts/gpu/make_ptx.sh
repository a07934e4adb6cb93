#!/usr/bin/env bash
# Compiles the CUDA kernels to PTX and writes it beside them: ptx/ of their folders.
#
#   scripts/gpu/make_ptx.sh              after a change of a kernel; needs clang++-14 (apt-get install clang-14)
#   scripts/gpu/make_ptx.sh --check      fails if the files are not what this would write
#   scripts/gpu/make_ptx.sh --sources    prints the checksum of the sources, as the files name it
#
# The text is kept, so that all builds have the same kernels, whatever compiler they find. It is of PTX 6.0 for sm_60:
# every driver since CUDA 9 takes it, for every device from P100 and V100 on. Nothing of CUDA is needed.
set -euo pipefail
cd "$(dirname "$0")/../.."

kernels=(loader/cuda/kernels/convert_kernels.cu loader/cuda/kernels/mix_kernels.cu loader/cuda/kernels/resize_kernels.cu
         tools/measure/step/spin_kernel.cu)
headers=(formats/image/resample/resample_weights.hpp loader/cuda/kernels/kernel_args.hpp loader/cuda/kernels/convert_kernel.hpp
         loader/cuda/kernels/kernel_entry.hpp loader/cuda/kernels/resize_kernel.hpp
         formats/base/codec/half.hpp tools/measure/step/spin_args.hpp scripts/gpu/make_ptx.sh)

sources_sum() { cat "${headers[@]}" "${kernels[@]}" | sha256sum | cut -d' ' -f1; }

compile() {
  # Everything in one function: a call would cost more than its body.
  "${CLANG:-clang++-14}" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/none -Wno-unknown-cuda-version \
    -Wno-unused-command-line-argument --cuda-gpu-arch=sm_60 -Xclang -target-feature -Xclang +ptx60 -O3 \
    -mllvm -inline-threshold=100000 -std=c++20 -ffp-contract=off -I "$scratch" -S "$1" -o -
}

if [[ "${1:-}" == --sources ]]; then
  sources_sum
  exit
fi
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
mkdir "$scratch/bale"
ln -s "$PWD/formats" "$PWD/loader" "$PWD/tools" "$scratch/bale/"
sum=$(sources_sum)
status=0
for kernel in "${kernels[@]}"; do
  kept="$(dirname "$kernel")/ptx/$(basename "$kernel" .cu).ptx"
  { echo "// Made by scripts/gpu/make_ptx.sh. SHA-256 of the sources: $sum"; compile "$kernel"; } >"$scratch/made.ptx"
  if [[ "${1:-}" == --check ]]; then
    cmp "$scratch/made.ptx" "$kept" || status=1
  else
    mkdir -p "$(dirname "$kept")"
    cp "$scratch/made.ptx" "$kept"
  fi
done
exit $status

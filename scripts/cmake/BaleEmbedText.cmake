# cmake -DPTX=file -DOUT=source.cpp -DNAME=convert_kernels -P: the text as `const char* const k_NAME_ptx`.
file(READ "${PTX}" text)
file(WRITE "${OUT}" "namespace bale::cuda_detail {\nextern const char* const k_${NAME}_ptx;\n"
     "const char* const k_${NAME}_ptx = R\"ptx(${text})ptx\";\n}  // namespace bale::cuda_detail\n")

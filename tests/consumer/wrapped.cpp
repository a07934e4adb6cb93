// A program that knows only a library that hides bale.
int train(const char* packed);

int main(int argc, char** argv) { return argc == 2 ? train(argv[1]) : 2; }

// A case whose mistake is none: check.cmake must report it.
int main() {}

// The program that the precompiled headers of all test programs belong to. It has no tests.

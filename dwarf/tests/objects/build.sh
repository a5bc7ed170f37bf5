#!/bin/sh
# Compiles the objects in this directory: gcc 12, clang 14, clang 19 and dwz 0.15 made the committed ones.
set -e
cd "$(dirname "$0")"
flags="-O1 -ffreestanding -fno-asynchronous-unwind-tables -fdebug-prefix-map=$PWD=. -w"
for version in 2 3 4 5; do
	gcc $flags -gdwarf-$version -gstrict-dwarf -c types.c -o gcc-dwarf$version.o
done
gcc $flags -gdwarf-4 -fdebug-types-section -c types.c -o gcc-type-units4.o
gcc $flags -gdwarf-5 -fdebug-types-section -c types.c -o gcc-type-units5.o
gcc $flags -gdwarf-5 -gz=zlib -c types.c -o gcc-zlib.o
for version in 4 5; do
	clang-14 $flags -gdwarf-$version -c types.c -o clang-dwarf$version.o
done
clang-14 $flags -target s390x-linux-gnu -gdwarf-5 -c types.c -o s390x.o
clang-14 $flags -target armv7-linux-gnueabihf -gdwarf-4 -c types.c -o arm.o
clang-14 $flags -target i386-linux-gnu -gdwarf-5 -c types.c -o i386.o
clang-19 $flags -target bpfel -gdwarf-5 -c tags.c -o tags.bpf.o
gcc $flags -gdwarf-5 -fPIC -shared -nostdlib types.c other.c -o two-units.so
dwz -o dwz.so two-units.so 2>/dev/null || cp two-units.so dwz.so

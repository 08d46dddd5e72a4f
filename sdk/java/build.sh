#!/bin/sh
# Builds the Java SDK into build/: the jar, and the programs of its tests. Needs a JDK 17 or newer, and nothing else.
set -eu
cd "$(dirname "$0")"

command -v javac >/dev/null || {
    echo "javac is not here: install a JDK 17 or newer (Debian: apt-get install default-jdk-headless), then make sdk" >&2
    exit 1
}
version=$(sed -n 's/.*VERSION = "\(.*\)";/\1/p' src/main/java/dev/alama/client/Alama.java)

rm -rf build
mkdir build
find src/main -name '*.java' >build/main.txt
find src/test -name '*.java' >build/test.txt
javac --release 17 -Xlint:all,-serial -Xdoclint:all,-missing -Werror -d build/main @build/main.txt
jar --create --file="build/alama-client-$version.jar" --date=2026-01-01T00:00:00Z -C build/main .
javac --release 17 -Xlint:all,-serial -Werror -classpath build/main -d build/test @build/test.txt

# --only makes some of them, an unknown name is refused, --hard makes hard links
mh links --only gzip,zcat bin && ls bin
mh links --only rm bin
cp "$(readlink -f "$(command -v mh)")" mh && ./mh links --hard --only xz bin && test bin/xz -ef mh && echo the same file

#!/bin/sh
# Installs manyhands from the directory that this script is in, or removes it.
#   ./install.sh [--prefix DIR] [--uninstall]      (default prefix: /usr/local)
set -eu
# Others may run what root installs.
umask 022
unset CDPATH

usage() {
    echo "usage: ./install.sh [--prefix DIR] [--uninstall]" >&2
    exit 2
}

prefix=/usr/local
uninstall=no
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -ge 2 ] || usage; prefix=$2; shift ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --uninstall) uninstall=yes ;;
        -h|--help) usage ;;
        *) echo "install.sh: unknown argument '$1'" >&2; usage ;;
    esac
    shift
done
case $prefix in
    "") usage ;;
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac

here=$(cd -- "$(dirname -- "$0")" && pwd)
list=$here/FILES

if [ "$uninstall" = yes ]; then
    while IFS= read -r file; do
        rm -f "$prefix/$file"
    done <"$list"
    # Directories of our own; those that others use too stay.
    for directory in lib/manyhands share/doc/manyhands; do
        [ -d "$prefix/$directory" ] || continue
        find "$prefix/$directory" -depth -type d -exec rmdir {} + 2>/dev/null || {
            echo "note: $prefix/$directory stays: it has files that this version did not install" >&2
        }
    done
    echo "removed manyhands from $prefix"
    exit 0
fi

"$here/bin/mh" --version >/dev/null || {
    echo "install.sh: '$here/bin/mh' does not run on this machine" >&2
    exit 1
}
while IFS= read -r file; do
    mkdir -p "$(dirname "$prefix/$file")"
    # Beside the target first: a program that runs is replaced and not written to.
    cp "$here/$file" "$prefix/$file.mh-new"
    mv -f "$prefix/$file.mh-new" "$prefix/$file"
done <"$list"
echo "installed $("$prefix/bin/mh" --version) into $prefix"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "note: $prefix/bin is not in PATH" ;;
esac

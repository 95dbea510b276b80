# as links rm, cp and mv have no -h and no -V: among other letters they are refused, and nothing is done
mkdir bin d; for name in rm cp mv; do ln -s "$(command -v mh)" bin/$name; done
bin/rm -rh d; echo "exit $?"; bin/cp -rV d new; echo "exit $?"; bin/mv -h d new; echo "exit $?"; ls
bin/rm --version && bin/rm --help | head -n 1

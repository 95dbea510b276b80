# what somebody else put there is never replaced; a link to another mh only with -f
mkdir bin && echo mine > bin/gzip && ln -s /elsewhere/mh bin/zcat
mh links --only gzip,zcat,gunzip bin
echo "exit $?" && mh links -f --only gzip,zcat bin
echo "exit $?" && cat bin/gzip && echo x | gzip | bin/zcat

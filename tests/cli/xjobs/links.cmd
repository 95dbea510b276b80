# A link named xjobs has its options.
mh links --only xjobs bin
printf "a b\n" | bin/xjobs -v0 echo x

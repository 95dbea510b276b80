# Long options may be cut short as with GNU tar; what means several names them, what means none names the nearest
mkdir d; echo 1 > d/a; echo 2 > d/b; echo d/a > list
mh tar --creat --file a.tar --exclude-fr list d; mh tar -t --file a.tar --show-tr; mh tar --lis; echo $?
mh tar --excl a -tf a.tar; echo $?
mh tar --exlude a -tf a.tar; echo $?
mh tar; echo $?
mh tar -tf a.tar --threads 2; echo $?

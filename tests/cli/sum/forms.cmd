# Lines of one algorithm, of several, with tags, ended by zeros, and as JSON.
printf hello > a; printf x > 'new
line'; mh sum a 'new
line'; mh sum -a crc32,crc32c,xxh3 a; mh sum --tag -a md5 a; mh sum -z -a crc32 a | tr '\0' '!'; echo; mh sum --json -a crc64,cksum a; mh sum -a cksum a; mh sum -a crc64nvme < a

# A file whose header was overwritten with zeros is corrupt, and its line is there although others are checked, too.
page() { printf "\\336\\255\\276\\357\\0\\0\\0\\$1\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\1\\0\\3\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\7"; head -c 16338 /dev/zero; printf '\336\255\276\357\0\0\0\1'; }
{ head -c 16384 /dev/zero; page 1; page 2; page 3; } > t.ibd
truncate -s 64K zeros.ibd
mh innodb t.ibd zeros.ibd

# A record with an unknown field is refused by line, and nothing behind it is run.
printf "{\"argv\":[\"echo\",\"a\"]}\n{\"argv\":[\"echo\"],\"retrys\":1}\necho never\n" | mh xjobs -j1

# mh tour of what is not there names the cause and exits with an error
mh tour nosuch; echo $?
mh tour .; echo $?

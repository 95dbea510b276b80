# A call that this architecture does not have is refused before anything is measured.
mh systime -e close,no_such_call -- true

# No is an answer.
echo new > a; echo old > b; echo n | mh cp -i a b; cat b

# A page is of one run, and a search is many.
mh load echo --find-max 'p99<1ms' --html page.html

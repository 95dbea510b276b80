# A program's times in other forms; what needs samples is refused, not ignored; ends as env does when there is no program
mh pstime --json -- sh -c 'exit 7' 2>err; echo $?
sed 's/:[0-9.][0-9.]*/:N/g' err
mh pstime --csv -- true 2>err; sed 's/[0-9][0-9]*,[0-9][0-9]*,[0-9][0-9]*,[0-9][0-9]*,[0-9][0-9]*$/TIMES/' err
for option in -t -m -a '-n 2' '--by user' '-o pid' '--top 1' '--min 1' '--record rec'; do mh pstime $option -- true 2>/dev/null; echo $?; done
mh pstime -- /nowhere/program; echo $?
mh pstime -- /; echo $?

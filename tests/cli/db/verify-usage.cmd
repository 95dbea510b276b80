# Sides that cannot be compared, before any server is asked; two archives are compared by their indexes.
mh db verify -d postgres://me@/shop; echo "exit $?"
mh db verify -d mysql://me@h postgres://me@h/shop; echo "exit $?"
mh db verify -d postgres://me@h/shop postgres://me@h/copy --lock none; echo "exit $?"
mh db verify -d mysql://me@h/shop postgres://me@h/shop; echo "exit $?"
mkdir one two three
mh db verify -d sqlite:shop.db one; echo "exit $?"
mh db verify one two three; echo "exit $?"
mh db verify one two; echo "exit $?"
table='"oid":1,"file":"1.dat","bytes":4,"stored":4,"frames":[]'
echo "{\"version\":1,\"encoding\":\"UTF8\",\"tables\":[{\"table\":\"public.t\",\"rows\":2,\"digest\":\"000000000000000000000000000000ff\",$table}]}" >one/mh.index
cp one/mh.index two; sed 's/"rows":2/"rows":3/' one/mh.index >three/mh.index
mh db verify one two 2>/dev/null; echo "exit $?"
mh db verify one three 2>/dev/null; echo "exit $?"
mh db verify one three --json 2>/dev/null; echo "exit $?"
mh db verify one three --explain
echo '{"version":1,"kind":"mysql"}' >two/mh.index
mh db verify one two; echo "exit $?"
echo '{"version":1,"kind":"mysql","server":"MariaDB 10.11","database":"shop","character_set":"utf8mb4","collation":"utf8mb4_bin","is_consistent":true,
"compression":"none","before":[],"after":[],"tables":[{"table":"t","is_transactional":true,"columns":[],"rows":2,"bytes":4,"stored":4,
"digest":"000000000000000000000000000000ff","parts":[]}]}' >two/mh.index
mh db verify one two; echo "exit $?"
mh db verify two two -t shop.t 2>/dev/null; echo "exit $?"

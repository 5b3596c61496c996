# For scripts that run several jobs, which wait for most of their time:
#   at_once COMMAND...   runs it beside others, $at_most at a time; $folder is an empty folder of its own
#   fail TEXT            says so, and the script fails
#   end_all              waits for all, and ends the script; it fails too where a command did not come to its end
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
begun=0 at_most=3

at_once() {
  while [ "$(jobs -rp | wc -l)" -ge "$at_most" ]; do wait -n; done
  begun=$((begun + 1))
  mkdir "$root/$begun"
  {
    folder=$root/$begun
    "$@"
    touch "$folder.ended"
  } &
}
fail() {
  echo "$1"
  touch "$root/failed"
}
end_all() {
  wait
  for ((i = 1; i <= begun; ++i)); do
    [ -e "$root/$i.ended" ] || fail "case $i of $begun broke off"
  done
  [ ! -e "$root/failed" ]
  exit
}

# Copies the kernel files in $PATTERNS twice, $SECONDS_APART seconds apart, to /out/$NAME: all of
# them below `proc` and `sys`, and those that have changed below `later`.
tree=/out/$NAME
group=/sys/fs/cgroup

# Two control groups with a process each: one writes files, one sends to itself over TCP.
for controller in cpu io memory pids; do
    echo +$controller >$group/cgroup.subtree_control
done 2>/dev/null
mkdir -p $group/files.service $group/network.service
(
    while :; do
        dd if=/dev/zero of=/tmp/written bs=64k count=16
        sleep 0.2
    done
) 2>/dev/null &
files=$!
echo $files >$group/files.service/cgroup.procs
(
    while :; do
        nc -l -p 7 >/dev/null &
        sleep 0.1
        dd if=/dev/zero bs=1k count=100 | nc 127.0.0.1 7
        ping -c 1 127.0.0.1 >/dev/null
        wait
    done
) 2>/dev/null &
network=$!
echo $network >$group/network.service/cgroup.procs
sleep 1

# add PATH: lists a readable file by its path without links, and makes the links that lead to it.
# Those of /proc (self, net) lead to the reading process, so they become folders.
add() {
    [ -f "$1" ] || [ -L "$1" ] || return
    folder=${1%/*}
    if [ -L "$folder" ] && [ "${folder#/proc}" = "$folder" ]; then
        mkdir -p "$tree${folder%/*}"
        [ -L "$tree$folder" ] || cp -P "$folder" "$tree$folder"
        set -- "$(readlink -f "$folder")/${1##*/}"
    fi
    mkdir -p "$tree${1%/*}"
    if [ -L "$1" ]; then
        # What else is linked (`subsystem`) is not a file that a source reads.
        case $1 in */exe | */device) cp -P "$1" "$tree$1" 2>/dev/null ;; esac
    elif cat "$1" >/dev/null 2>&1; then
        echo "$1" >>/tmp/list
    fi
}

set -f
for pattern in $PATTERNS; do
    set +f
    case $pattern in
    /sys/fs/cgroup/\**)
        for path in $(find $group -name "${pattern##*/}"); do add "$path"; done
        ;;
    /proc/\*/*)
        for process in 1 2 $files $network; do add "/proc/$process/${pattern##*/}"; done
        ;;
    *)
        for path in $pattern; do add "$path"; done
        ;;
    esac
    set -f
done
set +f
# By these files a reader recognizes version 2, and how many groups there are.
case $PATTERNS in
*"$group"*) for name in cgroup.controllers cgroup.stat; do add $group/$name; done ;;
esac

copy() {
    while read -r path; do
        mkdir -p "$1${path%/*}"
        cat "$path" >"$1$path"
    done </tmp/list.once
}

now() { cut -d. -f1 /proc/uptime; }

sort -u /tmp/list >/tmp/list.once
start=$(now)
copy "$tree"
taken=$(($(now) - start))
[ $taken -lt "$SECONDS_APART" ] || echo "FAIL copying takes $taken seconds"
sleep $((SECONDS_APART - taken))
copy "$tree/later"
kill $files $network
while read -r path; do
    cmp -s "$tree$path" "$tree/later$path" && rm "$tree/later$path"
done </tmp/list.once
find "$tree" -depth -type d -exec rmdir {} \; 2>/dev/null
echo "$(wc -l </tmp/list.once) files, $(find "$tree/later" -type f | wc -l) of them changed"

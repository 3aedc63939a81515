# What whit must do on every kernel, run by the guest's shell.  A check prints `ok NAME` or
# `FAIL NAME: WHY`.
echo "kernel $(uname -r), $(nproc) CPUs"

# check NAME COMMAND...: the command must succeed.
check() {
    name=$1
    shift
    if "$@" >/tmp/output 2>&1 </dev/null; then
        echo "ok $name"
    else
        echo "FAIL $name: $(tail -n 4 /tmp/output | tr '\n' ' ')"
    fi
}

# says PATTERN COMMAND...: the command's output must match, in a line or across the ends of lines.
says() {
    pattern=$1
    shift
    "$@" >/tmp/said 2>&1
    { cat /tmp/said; tr '\n' ' ' </tmp/said; } | grep -qE -e "$pattern" && return
    tail -n 4 /tmp/said
    return 1
}

# The way that a list of processes names at its end.
processes_by() {
    says "$1\\+bpf" whit record -sZ -i0.3 -c2 --process-way "$2"
}

# short_lives COUNT: processes that end at once; each is in the recording, once.
short_lives() {
    rm -f /tmp/lives-*
    whit record -s exit -i1 -m -f /tmp/lives >/dev/null 2>/tmp/err &
    recorder=$!
    # On many emulated CPUs loading takes seconds.
    waited=0
    until grep -q Starting /tmp/err || [ $waited -ge 30 ]; do
        sleep 1
        waited=$((waited + 1))
    done
    i=0
    while [ $i -lt $1 ]; do
        /bin/true
        i=$((i + 1))
    done
    sleep 2
    kill $recorder
    wait $recorder
    seen=$(whit play /tmp/lives-* -s EXIT --csv | grep -c ",command,true$")
    [ "$seen" = $1 ] || { echo "$seen of $1 seen"; cat /tmp/err; return 1; }
}

# Traffic by process: a ping over the loopback device is its own, in both directions.
network_by_process() {
    mount | grep -q cgroup2 || mount -t cgroup2 none /sys/fs/cgroup || return 1
    ip link set lo up
    # Again and again, as nobody knows how long a busy guest needs until it counts.
    (while :; do ping -c 20 -i 0.2 127.0.0.1 >/dev/null; done) &
    pings=$!
    says ' [1-9][0-9]* +[1-9][0-9]* ping ' whit record -s PROCESS_NET -i1 -c8
    seen=$?
    kill $pings
    return $seen
}

# exact_counts WAY: of a program of known calls; dd reads and writes one byte at a time.
exact_counts() {
    whit trace --way $1 -c --json -o /tmp/counts dd if=/dev/zero of=/dev/null bs=1 count=1000 2>/tmp/err ||
        { cat /tmp/err; return 1; }
    for call in read write; do
        count=$(tr '{' '\n' </tmp/counts | grep "\"$call\"" | grep -o '"calls": *[0-9]*' | grep -o '[0-9]*$')
        [ "${count:-0}" -ge 1000 ] && [ "$count" -le 1010 ] || { echo "$call: $count"; return 1; }
    done
}

# The lines in the kernel are those by ptrace.  Without random addresses malloc asks for memory alike.
same_lines() {
    echo 0 >/proc/sys/kernel/randomize_va_space
    for way in kernel ptrace; do
        whit trace --way $way -o /tmp/lines.$way cat /etc/passwd /nowhere >/dev/null 2>&1
        [ $? = 1 ] || { echo "$way: exit status"; return 1; }
        sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/set_tid_address.*//; s/getrandom.*//; s/ +/ /g' /tmp/lines.$way >/tmp/same.$way
    done
    [ -s /tmp/same.kernel ] && diff /tmp/same.kernel /tmp/same.ptrace
}

# What an execve is given is shown, although its pages are not resident when the call begins.
new_program() {
    for status in all successful; do
        whit trace --way kernel -e trace=execve -e status=$status -o /tmp/exec /bin/untouched 2>/tmp/err ||
            { cat /tmp/err; return 1; }
        grep -q '^execve("/bin/true", \["true", "an argument"\], 0x[0-9a-f]* /\* 2 vars \*/) = 0$' /tmp/exec ||
            { cat /tmp/exec; return 1; }
    done
}

# Without the kernel's types everything goes by /proc, taskstats and ptrace, says so, and is right.
# Records of taskstats name the process since Linux 5.16; before, ends are inferred.
without_btf() {
    mount -t tmpfs none /sys/kernel/btf || return 1
    case $(uname -r) in
    5.10.*) ends=inferred ;;
    *) ends=taskstats ;;
    esac
    says "proc\\+$ends" whit record -sZ -i0.3 -c2 || { echo "processes"; return 1; }
    whit record -sZ -c1 --process-way iterator >/tmp/said 2>&1
    [ $? = 2 ] && grep -q 'no BTF' /tmp/said || { echo "the iterator is not refused"; return 1; }
    [ $ends = inferred ] || short_lives 100 || return 1
    exact_counts ptrace || return 1
    says 'Counted by ptrace' whit trace -c true || { echo "trace -c"; return 1; }
    says 'not in the kernel, which costs less: no BTF' whit trace true || { echo "trace"; return 1; }
    whit trace --way kernel true >/tmp/said 2>&1
    [ $? = 2 ] && grep -q 'no BTF' /tmp/said || { echo "trace --way kernel"; return 1; }
    says '^! btf +absent' whit doctor -n 3 || { echo "doctor"; return 1; }
    grep -qE '^! process iterator +does not work: no BTF' /tmp/said ||
        { echo "doctor on the iterator"; return 1; }
    umount /sys/kernel/btf
}

check record whit record -scdmnjxstE -i0.1 -c5 -f /tmp/all
check play says '[0-9]' whit play /tmp/all-*
check play-csv says '^[0-9]' whit play /tmp/all-* --csv
# Once for two checks: on emulated CPUs it takes twelve seconds.
whit doctor -n 3 >/tmp/doctor 2>&1
check doctor says 'process iterator +works' cat /tmp/doctor
check iterator processes_by iterator iterator
check walk processes_by proc proc
check counters says 'counters bpf +works for cpu, cpu_core, interrupt, numa' cat /tmp/doctor
check counters-record whit record -scCjM -i0.1 -c5 --cpu-way bpf
check lives short_lives 300
check process-net network_by_process
check counts exact_counts kernel
check counts-chosen says ' 1 +execve$' whit trace --way kernel -cq -e trace=execve,getppid true
check lines same_lines
check new-program new_program
check run says '^3$' whit run echo ::: 1 2 3
check without-btf without_btf

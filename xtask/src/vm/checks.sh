# What whit must do on every kernel, run by the guest's shell.  A check prints `ok NAME` or
# `FAIL NAME: WHY`.
echo "kernel $(uname -r), $(nproc) CPUs"
check() { # NAME, then a command that must succeed
    name=$1
    shift
    if "$@" >/tmp/output 2>&1; then echo "ok $name"; else echo "FAIL $name: $(tail -n 3 /tmp/output | tr '\n' ' ')"; fi
}
says() { # PATTERN, then a command whose output must hold it
    pattern=$1
    shift
    "$@" >/tmp/said 2>&1 </dev/null
    grep -qE -e "$pattern" /tmp/said || { cat /tmp/said; return 1; }
}
check record whit record -scdmn -i0.1 -c5 -f /tmp/r
check play says 'cpu sys' whit play /tmp/r-*
check doctor says 'iterator' whit doctor -n 3
check iterator says 'PID' whit record -sZ -i0.2 -c2 --process-way iterator
check trace-count says 'getppid' whit trace -c -o /dev/stderr sh -c 'echo $PPID'
check trace-kernel says 'execve' whit trace --way kernel true
check run says '^3$' whit run echo ::: 3

#!/bin/busybox sh
# The first program of a guest: mounts what whit reads, runs /command and turns the machine off.
/bin/busybox mkdir -p /bin /sbin /usr/bin /usr/sbin /proc /sys /dev /tmp /run /root /etc /var/log
/bin/busybox --install -s
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root TERM=linux
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t cgroup2 group /sys/fs/cgroup 2>/dev/null
echo 'root:x:0:0::/root:/bin/sh' >/etc/passwd
# Runs of benchmarks are kept under this name.
hostname "guest-$(uname -r | cut -d. -f1,2)-$(nproc)-cpus"
ip link set lo up
# With statistics of BPF programs always on, turning them on patches no code.  Where several CPUs run
# code while it is patched, QEMU 7.2 sometimes executes the breakpoint for ever that was there meanwhile.
echo 1 >/proc/sys/kernel/bpf_stats_enabled
ulimit -n 65536
cd /root
if [ -e /command ]; then
    sh /command
    status=$?
    # The command may have left a line of progress without an end.
    echo
    [ -d /out ] && tar -C /out -cz . | base64 | sed 's/^/vm: out /'
    echo "vm: status $status"
else
    setsid cttyhack sh
fi
sync
poweroff -f

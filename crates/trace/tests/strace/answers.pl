# Structures that the kernel fills in: made for real, and without effect on the machine.
use strict;
my $none = 0;
my $bad = 0x10;
my $buffer = "\0" x 256;

# adjtimex, clock_adjtime: the first number says what is changed, and 0xa001 only reads.
for my $modes (0, 0xa001, 1 << 25) {
    my $time = pack('L', $modes) . "\0" x 204;
    syscall(159, $time);
    syscall(305, 0, $time);
}
my $time = "\0" x 208;
syscall(305, 1, $time);
syscall(159, $_) for $none, $bad;

# shmctl, msgctl, semctl.
my $shared = syscall(29, 0, 4096, 01640);
syscall(31, $shared, $_, $buffer) for 2, 1;
syscall(31, $shared, $_, $bad) for 1, 2;
syscall(31, $shared, $_, $none) for 1, 2, 11, 12, 77;
syscall(31, 0, 3, $buffer);
syscall(31, $shared, 0x102, $buffer);
syscall(31, $shared, 0, 0);
my $queue = syscall(68, 0, 01604);
syscall(71, $queue, $_, $buffer) for 2, 1;
syscall(71, $queue, $_, $bad) for 1, 2;
syscall(71, $queue, $_, $none) for 1, 2, 77;
syscall(71, 0, 3, $buffer);
syscall(71, $queue, 0x102, $buffer);
syscall(71, $queue, 0, 0);
my $set = syscall(64, 0, 2, 01600);
syscall(66, $set, 0, $_, $buffer) for 2, 1, 13, 17, 12;
syscall(66, $set, 0, $_, $bad) for 1, 2;
syscall(66, $set, 0, $_, $none) for 1, 2, 77;
syscall(66, $set, 0, 16, 5);
syscall(66, 0, 0, 3, $buffer);
syscall(66, $set, 0, 0, 0);

# io_uring_setup: a ring, one that is refused, and one whose parameters cannot be written.
my $ring = "\0" x 120;
syscall(425, 4, $ring);
syscall(425, 0, $ring);
syscall(425, 4, $_) for $none, $bad;

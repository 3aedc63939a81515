# Calls whose arguments are at the edge of what the kernel takes: sizes of zero, structures that are
# longer than known, counts that are too high, memory that cannot be read.
use strict;
use warnings;
no warnings 'portable';
use POSIX ();
use Socket;

my $here = shift;

# syscall wants texts that it may change.
sub call {
    my @words = @_;
    return syscall shift @words, @words;
}

my $room = "\0" x 256;
my $bad = 0x1000;

# Extended attributes.
sysopen(my $file, "$here/file", 0102, 0600) or die;
my $fd = fileno $file;
for my $value ("abc\0", "\0\0", "a\0b", "x" x 41, ("y" x 31) . "\0", ("z" x 32) . "\0", "") {
    my $copy = $value;
    call(190, $fd, "user.a", $copy, length $copy, 0);
    call(193, $fd, "user.a", $room, 256);
    call(193, $fd, "user.a", 0, 0);
}
my $clean = "\0" x 256;
call(196, $fd, $clean, 0);
call(196, $fd, 0, 0);
call(196, $fd, $clean, 2);
call(196, $fd, $clean, 256);
my $path = "$here/file";
call(194, $path, $clean, 0);
call(195, $path, $clean, 256);

# Octal escapes before digits.
for my $text ("\0018\0019\0017\1a\0", "\33[9x\0011", "<\0018>") {
    my $copy = $text;
    call(1, $fd, $copy, length $copy);
}

# Flags of poll, each alone and all together, before and after the reader is gone.
pipe(my $reader, my $writer) or die;
my ($in, $out) = (fileno $reader, fileno $writer);
my $both = pack "iSSiSSiSS", $in, 0xffff, 0, $out, 0x114, 0, 99, 0x21, 0;
call(7, $both, 3, 0);
call(7, $bad, 2, 0);
call(7, $bad, 0, 0);
call(7, 0, 1, 0);
close $reader;
for my $bit (0 .. 15) {
    my $one = pack "iSS", $out, 1 << $bit, 0;
    call(7, $one, 1, 0);
}

# Time limits of recvmmsg, and messages that are not sent.
socketpair(my $left, my $right, AF_UNIX, SOCK_DGRAM, 0) or die;
my @data = ("a" x 8, "b" x 8);
my @vectors = map { pack "PQ", $_, 8 } @data;
my $messages = join "", map { pack "QLx4PQQQLx4Lx4", 0, 0, $_, 1, 0, 0, 0, 0 } @vectors;
my $limit = pack "qq", 5, 0;
call(307, fileno $left, $messages, 2, 0);
call(299, fileno $right, $messages, 2, 0x40, $limit);
call(307, fileno $left, $messages, 1, 0);
call(299, fileno $right, $messages, 2, 0x40, 0);
call(299, fileno $right, $messages, 2, 0x40, $limit);
call(299, fileno $right, $messages, 0, 0x40, $limit);
call(299, fileno $right, $messages, 0, 0x40, 0);
call(299, fileno $right, $messages, 2, 0x40, $bad);
call(307, -1, $messages, 2, 0);
call(307, -1, $bad, 2, 0);

# How a timer signals.
for my $notify (0 .. 5) {
    for my $number (0, 14, 77, -1) {
        my $event = pack "QiiQQx32", $number == 14 ? 0 : 7, $number, $notify, 1, 0;
        call(244, -1, $event);
    }
}
call(244, -1, $bad);

# Names of tasks and of memory.
for my $name ("short", "", "fifteen-bytes-x", "sixteen-bytes-xy", "many more bytes than that") {
    my $copy = $name;
    call(157, 15, $copy, 0, 0, 0);
    call(157, 16, $clean, 0, 0, 0);
}
call(157, 15, $bad, 0, 0, 0);
call(157, 0x53564d41, $_, 0, 4096, "name") for 0, 1;

# Structures that are longer than known.
for my $more ("", "\0" x 8, "\7" . "\0" x 7, "\7" x 40, "\7" x 5000) {
    my $how = pack("QQQ", 0x80000, 0, 0) . $more;
    call(437, -100, "/dev/null", $how, length $how);
    my $clone = pack("Q11", 0xffffffffffffffff, (0) x 10) . $more;
    call(435, $clone, length $clone);
}
my $clone = pack "Q11", 0x380000080, (0) x 7, 0, 3, 9;
call(435, $clone, $_) for 64, 80, 88;

# Numbers of groups.
my $groups = pack "L*", 0 .. 69;
call(116, $_, $groups) for -1, 65537;
call(116, 2, $bad);
call(116, 1, 0);
POSIX::_exit(0);

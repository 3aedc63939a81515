# Makes calls that a filter answers with ENOSYS, so that a tracer shows their arguments and nothing
# happens: a line of input is a number and five words, the sixth word is what the filter looks for.
use strict;
my $magic = 0x77686974;
my $filter = join '', map { pack 'SCCL', @$_ }
    [0x20, 0, 0, 56], [0x15, 0, 1, $magic], [0x06, 0, 0, 0x00050000 | 38], [0x06, 0, 0, 0x7fff0000];
my $program = pack 'S x6 P', 4, $filter;
my @lines = <STDIN>;
syscall(157, 38, 1, 0, 0, 0) == 0 or die "no new privileges: $!";
syscall(157, 22, 2, $program) == 0 or die "seccomp: $!";
for my $line (@lines) {
    my ($number, @words) = map { 0 + $_ } split ' ', $line;
    syscall($number, @words[0 .. 4], $magic);
}
# The word would stay in its register and be found in calls of the interpreter.
syscall(39, 0, 0, 0, 0, 0, 0);

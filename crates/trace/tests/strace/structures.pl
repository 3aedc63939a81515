# Calls with structures, which a filter answers with ENOSYS: plausible contents, numbers without
# names, lengths of every version, addresses that are not mapped.
use strict;
my $magic = 0x77686974;
my $filter = join '', map { pack 'SCCL', @$_ }
    [0x20, 0, 0, 56], [0x15, 0, 1, $magic], [0x06, 0, 0, 0x00050000 | 38], [0x06, 0, 0, 0x7fff0000];
my $program = pack 'S x6 P', 4, $filter;
syscall(157, 38, 1, 0, 0, 0) == 0 or die "no new privileges: $!";
syscall(157, 22, 2, $program) == 0 or die "seccomp: $!";
sub call {
    my ($number, @words) = @_;
    push @words, 0 while @words < 5;
    syscall($number, @words, $magic);
}
my ($none, $bad) = (0, 0x10);
my $noise = join '', map { chr($_ * 37 % 256) } 1 .. 256;

# perf_event_open.
sub attribute {
    my ($type, $config, %rest) = @_;
    my $size = $rest{size} // 128;
    return pack 'L L Q Q Q Q Q L L Q Q Q Q L l Q L S S L L Q x64', $type, $size, $config,
        $rest{period} // 0, $rest{sample} // 0, $rest{format} // 0, $rest{bits} // 0,
        $rest{wakeup} // 0, $rest{bp} // 0, $rest{config1} // 0, $rest{config2} // 0,
        $rest{branch} // 0, $rest{regs} // 0, $rest{stack} // 0, $rest{clock} // 0,
        $rest{intr} // 0, $rest{aux} // 0, $rest{max} // 0, $rest{r2} // 0, $rest{asize} // 0, $rest{r3} // 0, $rest{sig} // 0;
}
for my $type (0 .. 8) {
    call(298, attribute($type, $_), 0, -1, -1, 8) for 0 .. 12, 0x10204, 0x20306;
}
for my $size (0, 32, 63, 64, 65, 72, 80, 96, 104, 108, 112, 120, 128, 136, 200, 5000) {
    call(298, attribute(1, 0, size => $size, period => 4000, bits => 0x7fffff), -1, 0, -1, 0);
}
for my $bit (0 .. 63) {
    call(298, attribute(1, 1, bits => 1 << $bit, wakeup => 1, period => 5, sample => 1 << $bit, format => 1 << $bit,
        branch => 1 << $bit, clock => $bit % 14, max => 3, r2 => $bit % 2, stack => 7, regs => 5, intr => 6,
        aux => 9, asize => 11, r3 => $bit % 3, sig => 77), 0, 0, -1, 0);
}
call(298, attribute(5, 0, bp => $_, config1 => 0x1000, config2 => $_), 0, 0, -1, 0) for 0 .. 9;
call(298, attribute(0, 0, sample => 0xffffffff, format => 0xff, branch => 0xffffff), 0, 0, -1, 0);
call(298, $noise, 0, 0, -1, 0);
call(298, "\xff" x 256, 0, 0, -1, 0);
call(298, $bad, 0, 0, -1, 0);
call(298, attribute($_->[0], $_->[1]), 0, 0, -1, 0)
    for [0, 0x400000001], [1, 0x400000001], [2, ~0], [3, 0x40102030], [3, 1 << 62], [3, 1 << 24];

# io_uring_setup.
call(425, 8, pack 'L*', 1, 2, 0x7f, 4, 5, 0x3f, -1 & 0xffffffff, (0) x 23);
call(425, 8, pack 'L*', 0, 0, 1 << $_, 3, 4, 0, 7, 1, 2, 3, (0) x 20) for 0 .. 31;
call(425, 8, $noise);
call(425, 8, $_) for $none, $bad;

# Landlock.
call(444, pack('QQQ', 1 << $_, 6, 7), 8, 0) for 0 .. 16;
call(444, pack('QQQ', 5, 6, 7), $_, 0) for 0, 4, 7, 8, 9, 16, 24;
call(444, $_, 8, 0) for $none, $bad;
call(444, 0, 0, 1);
call(444, $bad, 5, 3);
call(445, 3, 1, pack('Q l', $_, 4), 0) for 0, 4, 0xffff, 0x2000;
call(445, 3, $_, pack('Q l', 1, -100), 0) for 0, 2, 3;
call(445, 3, 1, $_, 1) for $none, $bad;

# fsconfig.
for my $command (0 .. 9) {
    call(431, 3, $command, 'key', 'value', 0);
    call(431, 3, $command, 'key', 'value', 3);
    call(431, -1, $command, 0, 0, -100);
    call(431, 3, $command, $bad, $bad, 5);
    call(431, 3, $command, 'key', 'x' x 300, 0);
    call(431, 3, $command, 'k' x 300, 'x' x 50, 50);
    call(431, 3, $command, 'k' x 300, 'x' x 50, 0xffffffff);
}

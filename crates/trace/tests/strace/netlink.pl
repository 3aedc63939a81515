#!/usr/bin/perl
# Sends netlink messages, whole, cut and nested, to a port that nobody has, and one to the kernel,
# which answers that it does not know it.
use strict;
use warnings;
use Socket;

sub message { my ($type, $body, %o) = @_;
    my $length = $o{length} // 16 + length $body;
    return pack('LSSLL', $length, $type, $o{flags} // 0, $o{seq} // 0, $o{pid} // 0) . $body }

# USERSOCK, ROUTE and SOCK_DIAG.
for my $protocol (2, 0, 4) {
    socket(my $socket, 16, SOCK_RAW, $protocol) or die "socket: $!";
    my $nobody = pack 'SSLL', 16, 0, 0x7fffffff, 0;
    # This one is not bound yet.
    socket(my $new, 16, SOCK_RAW, $protocol) or die "socket: $!";
    send $new, message(16, ''), 0, $nobody;
    bind($socket, pack 'SSLL', 16, 0, 0, 0) or die "bind: $!";
    my $done = message(3, pack 'l', -5);
    my $error = message(2, pack('l', -22) . message(1, ''));
    my $deep = message(1, 'abc');
    $deep = message(2, pack('l', -1) . $deep) for 1 .. 3;
    my @flags = map { my $type = $_; map { message($type, '', flags => $_) } 0x3f, 0x301, 0x700, 0xffff }
        2, 3, 16, 17, 18, 20, 21, 100, 0x7878;
    my @odd = ('', 'a', 'b' x 15, message(1, '', length => 15), message(1, '', length => 99),
        message(1, 'abc', length => 0), message(3, 'ab'), message(3, 'abcdef'), message(2, 'ab'),
        message(2, pack 'l', 5), message(2, pack('l', 5) . message(1, '')),
        message(2, pack('l', -2200) . message(1, '')), message(2, pack('l', -2 ** 31) . message(1, '')),
        message(2, pack('l', 0) . message(1, ''), flags => 0x100),
        message(1, '') . 'x', message(1, '') . message(3, '') . message(1, ''),
        $done . $error . $done, message(5, 'abcd'), message(15, ''), message(1, '') x 40,
        message(1, '', seq => 2 ** 32 - 1, pid => 2 ** 32 - 1), message(1, "\x01" x 70),
        $done . message(1, 'abc') . 'xyzzyxyzzyxyzzyxyzzy');
    send $socket, $_, 0, $nobody for $done, $error, $deep, @flags, @odd;
}
socket(my $route, 16, SOCK_RAW, 0) or die "socket: $!";
bind($route, pack 'SSLL', 16, 0, 0, 0) or die "bind: $!";
send $route, message(0x7e00, '', flags => 5), 0, pack 'SSLL', 16, 0, 0, 0;
recv $route, my $answer, 8192, 0;

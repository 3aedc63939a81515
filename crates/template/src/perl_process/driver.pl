# Runs expressions for whit: reads requests on standard input, answers on standard output.
# A request and an answer are a number of fields, each with its length before it.
use B ();
binmode STDIN;
open(my $answers, ">&", \*STDOUT) or die;
binmode $answers;
# What an expression prints must not stand among the answers.
open(STDOUT, ">&", \*STDERR) or die;

our @arg;
my (%job, %program);

sub seq { $job{seq} }
sub slot { $job{slot} }
sub total_jobs { $job{total} eq "" ? die("the number of jobs is not known\n") : $job{total} }
sub skip { $job{skip} = 1 }
sub uq { $job{uq} = 1 }
sub hash { B::hash($_[0]) }

sub Q {
    my ($text) = @_;
    return "''" if $text eq "";
    return $text unless $text =~ m{[^-A-Za-z0-9_.+/]};
    return join "", map { /^'/ ? qq("$_") : "'$_'" } $text =~ /'|[^']+/g;
}
sub shell_quote { Q($_[0]) }
sub shell_quote_scalar { Q($_[0]) }

sub pQ {
    my ($text) = @_;
    $text =~ s/([\\"\$\@])/\\$1/g;
    return $text;
}

sub moment {
    my ($format) = @_;
    my ($S, $M, $H, $d, $m, $y) = gmtime $job{time};
    my %part = (Y => sprintf("%04d", $y + 1900), m => $m + 1, d => $d, H => $H, M => $M, S => $S);
    return join "", map { exists $part{$_} ? sprintf("%02d", $part{$_}) : $_ } split //, $format;
}
sub yyyy_mm_dd_hh_mm_ss { moment("Y-m-dTH:M:S") }
sub yyyy_mm_dd_hh_mm { moment("Y-m-dTH:M") }
sub yyyy_mm_dd { moment("Y-m-d") }
sub hh_mm_ss { moment("H:M:S") }
sub hh_mm { moment("H:M") }
sub yyyymmddhhmmss { moment("YmdHMS") }
sub yyyymmddhhmm { moment("YmdHM") }
sub yyyymmdd { moment("Ymd") }
sub hhmmss { moment("HMS") }
sub hhmm { moment("HM") }

sub Job::seq { main::seq() }
sub Job::slot { main::slot() }
sub Job::skip { main::skip() }
our $job = bless {}, "Job";

sub take {
    my ($length) = @_;
    my $text = "";
    while (length $text < $length) {
        read(STDIN, $text, $length - length $text, length $text) or exit 0;
    }
    return $text;
}

sub answer {
    my $text = pack("N", scalar @_) . join "", map { pack("N/a*", $_) } @_;
    print $answers $text;
    $answers->flush;
}

require IO::Handle;
while (1) {
    my @fields = map { take(unpack "N", take(4)) } 1 .. unpack("N", take(4));
    my ($does, $code, $value, $seq, $slot, $slots, $total, $time, @values) = @fields;
    $program{$code} ||= eval "sub { $code\n }";
    if (!$program{$code}) {
        answer("error", $@);
        next;
    }
    if ($does eq "parse") {
        answer("", "");
        next;
    }
    %job = (seq => $seq, slot => $slot, total => $total, time => $time, skip => 0, uq => 0);
    $Global::max_jobs_running = $slots;
    @arg = ("", @values);
    local $_ = $value;
    eval { $program{$code}->(); 1 } or do {
        answer("error", $@);
        next;
    };
    $_ = "" unless defined $_;
    utf8::encode($_) if utf8::is_utf8($_);
    answer(($job{skip} ? "skip" : "") . ($job{uq} ? "uq" : ""), "$_");
}

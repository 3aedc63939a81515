# Reads each configuration of standard input as `mrtg` does, and prints what it means: a line for
# each setting, `no` and why if it is refused, `--` after each file.
use strict;
use Math::BigFloat;
use MRTG_lib;
use SNMP_util;
open STDERR, '>', '/dev/null';

sub shown { my $text = shift; $text =~ s/\\/\\\\/g; $text =~ s/\n/\\n/g; $text }

# An object in numbers, as it would be sent.
sub number_of {
    my $name = shift;
    my ($id, $word) = SNMP_util::Check_OID($name);
    return 'unknown' unless $id;
    $name =~ s/^\Q$word\E/$id/;
    $name =~ s/^\.//;
    return 'unknown' unless $name =~ /^\d+(\.\d+)+$/;
    return join '.', map { $_ + 0 } split /\./, $name;
}

sub variable {
    my ($one, $i) = @_;
    my ($name, $kind, $key) = ($one->{OID}[$i], $one->{IfSel}[$i], $one->{Key}[$i]);
    return 'constant 0' if $name =~ /^PseudoZero$/;
    return 'constant 1' if $name =~ /^PseudoOne$/;
    my $method = 'get';
    if ($name =~ s/^WaLK(\d*)//) { $method = 'walk ' . ($1 || 0) }
    elsif ($name =~ s/^GeTNEXT//) { $method = 'next' }
    elsif ($name =~ s/^CnTWaLK//) { $method = 'count' }
    if ($name =~ /IndexPOS/) {
        # The last number of the whole takes the place.
        if ($kind eq 'If' or $kind eq 'None') {
            my $whole = $kind eq 'If' ? "$name.$key" : $name;
            return "$method unknown" unless $whole =~ s/\.(\d+)$//;
            my $number = $1;
            $whole =~ s/IndexPOS/$number/;
            return "$method " . number_of($whole);
        }
        my ($before, $after) = split /\.?IndexPOS\.?/, $name, 2;
        return "$method " . number_of($before) . " index $after $kind '" . shown($key) . "'";
    }
    return "$method " . number_of("$name.$key") if $kind eq 'If';
    return "$method " . number_of($name) . " $kind '" . shown($key) . "'";
}

sub query {
    my $one = shift;
    return "command '" . shown($one->{Command}) . "'" if $one->{Methode} eq 'EXEC';
    my ($in, $out) = map { variable($one, $_) } 0, 1;
    my ($host, $other) = ($one->{Host}, $one->{ipv4only} ? 4 : 46);
    $host =~ s/^\[|\]$//g;
    return "$in & $out of '$one->{Community}' at '$host$one->{SnmpOpt}' by $other"
        . " through '$one->{Conversion}'";
}

# A number that both sides give a query.
sub value_of { my $sum = 0; $sum += ord for split //, $_[0]; $sum % 997 + 1 }

# What a target's expression gives.
sub result {
    my ($text, $target) = @_;
    my ($rou, $rcfg, $cfg, %last, $uptime, $name, $time, $warning, $death, $mode, $data);
    $mode = '_IN_';
    local $SIG{__WARN__} = sub { $warning = 1 };
    local $SIG{__DIE__} = 'DEFAULT';
    $^W = 1;
    $data = eval "$text";
    my $failed = $@;
    $^W = 0;
    return 'wrong' if $failed and $failed =~ /syntax error|strict|Bareword|Global symbol|Can't find|Unmatched|Missing|Search pattern|Unrecognized|terminat|requires|Can't modify|Not enough|Illegal|Number found|Can't locate object|Undefined subroutine/;
    return 'unknown' if $failed or $warning or not defined $data;
    return 'unknown' if $data and $data !~ /^[-+]?\d+(\.\d*)?([eE][+-]?[0-9]+)?$/;
    return 'unknown' if length $data > 190;
    return ref $data ? $data->ffround(0) . '' : sprintf '%.0f', $data;
}

my @flags = qw(growright bits noinfo absolute gauge nopercent avgpeak derive integer perhour perminute
    transparent dorelpercent unknaszero withzeroes noborder noarrow noi noo nobanner nolegend logscale
    secondmean pngdate printrouter expscale);

while (my $file = <STDIN>) {
    chomp $file;
    my (@routers, %cfg, %rcfg, @target);
    my $is_taken = eval {
        readcfg($file, \@routers, \%cfg, \%rcfg);
        $cfg{enableipv6} = lc($cfg{enableipv6} // 'no');
        cfgcheck(\@routers, \%cfg, \%rcfg, \@target, { check => 1 });
        1;
    };
    if (not $is_taken) {
        my $why = $@;
        $why =~ s/\s+/ /g;
        print "no $why\n--\n";
        next;
    }
    my @queries = map { query($_) } @target;
    for my $at (0 .. $#target) {
        my $value = value_of($queries[$at]);
        $target[$at]{_IN_} = Math::BigFloat->new($value);
    }
    print "folders $cfg{logdir} $cfg{htmldir} $cfg{imagedir} $cfg{imagehtml}\n";
    printf "interval %.0f\n", $cfg{interval} * 60;
    for my $name (@routers) {
        my $of = sub { $rcfg{$_[0]}{$name} };
        my $line = sub {
            my ($key, $value) = @_;
            print "$name $key '" . shown($value) . "'\n" if defined $value;
        };
        $line->($_, $of->($_)) for qw(title pagetop pagefoot addhead bodytag extension directory
            textcolor kmg ylegend shortlegend legend1 legend2 legend3 legend4 legend5 legendi legendo
            pngtitle timezone weekformat timestrfmt);
        $line->('background', $of->('backgc'));
        $line->($_, sprintf '%.0f', $of->($_)) for qw(maxbytes1 maxbytes2 kilo);
        $line->($_, int $of->($_)) for qw(xsize ysize ytics);
        $line->($_, sprintf '%.6g', $of->($_)) for qw(xzoom yzoom xscale yscale yticsfactor factor);
        $line->('absmax', sprintf '%.0f', $of->('absmax')) if defined $of->('absmax');
        $line->('options', join ' ', grep { $rcfg{options}{$_}{$name} } @flags);
        $line->('colours', join ',', map { ($of->("col$_") // '') . ($of->("rgb$_") // '') } 1 .. 5);
        for my $key (qw(unscaled withpeak suppress)) {
            my $value = $of->($key);
            next unless defined $value;
            my $letters = join '', grep { $value =~ /$_/ } qw(d w m y);
            $line->($key, $letters) if $letters or $key eq 'withpeak';
        }
        my $place = uc $of->('timestrpos');
        $line->('timestrpos', $place =~ /^[LR][LU]$/ ? $place : 'NO');
        for my $kind ('', 'hw') {
            $line->("${kind}thresh$_", $of->("${kind}thresh$_"))
                for qw(mini mino maxi maxo desc progi progo progoki progoko mailaddress);
        }
        my $text = $of->('target');
        my %seen;
        my @used = sort map { $queries[$_] } grep { !$seen{$_}++ } $text =~ /\$target->\[(\d+)\]/g;
        my $result = result($text, \@target);
        # Without an object there is nothing to ask for.
        my $lacks = sub {
            my ($kind, $name, $key) = map { $_[0]{$_}[$_[1]] } qw(IfSel OID Key);
            return $kind eq 'None' && $name eq '' || $kind eq 'If' && $key > 4294967295;
        };
        $result = 'wrong' if grep { $_->{Methode} eq 'SNMP' && ($lacks->($_, 0) || $lacks->($_, 1)) }
            map { $target[$_] } $text =~ /\$target->\[(\d+)\]/g;
        $line->('result', $result);
        print "$name asks '$_'\n" for @used;
    }
    print "--\n";
}

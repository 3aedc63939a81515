# What Perl programs do with RRDtool: MRTG, Munin and Smokeping use these functions.
use strict;
use warnings;
use RRDs;

my $start = 1700000000;

sub text {
    my ($value) = @_;
    return 'undef' unless defined $value;
    return '[' . join(' ', map { text($_) } @$value) . ']' if ref $value eq 'ARRAY';
    if (ref $value eq 'HASH') {
        # The first row of a new archive is random.
        my @keys = grep { !/cur_row/ } sort keys %$value;
        return '{' . join("\n ", map { "$_ " . ($_ eq 'image' ? 'bytes' : text($value->{$_})) } @keys) . '}';
    }
    return $value;
}

sub show {
    my ($name, @values) = @_;
    my $error = RRDs::error;
    print "$name: ", join(' ', map { text($_) } @values), defined $error ? " ERROR $error" : '', "\n";
}

print $RRDs::VERSION, "\n";
show('create', RRDs::create('a.rrd', '--start', $start, '--step', 300,
    'DS:ds0:COUNTER:600:0:125000000', 'DS:ds1:COUNTER:600:0:125000000',
    map({ ("RRA:AVERAGE:0.5:$_:50", "RRA:MAX:0.5:$_:50") } 1, 6, 24)));
show('create', RRDs::create('b.rrd', 'DS:a:GAUGE:600:U:U'));
show('update', RRDs::update('a.rrd', map { my $t = $start + 300 * $_; "$t:" . $_ * 5000 . ':' . $_ * 70000 } 1 .. 60));
show('update', RRDs::update('a.rrd', '--template', 'ds1:ds0', ($start + 300 * 61) . ':4900000:400000'));
show('update', RRDs::update('a.rrd', "$start:1:2"));
show('update', RRDs::update('no.rrd', "$start:1:2"));
show('updatev', RRDs::updatev('a.rrd', ($start + 300 * 62) . ':500000:5000000'));
show('updatev', RRDs::updatev('a.rrd', "$start:1:2"));
show('fetch', RRDs::fetch('a.rrd', 'AVERAGE', '-s', $start, '-e', 'start+2h'));
show('fetch', RRDs::fetch('a.rrd', 'MAX', '-s', 'end-1day', '-e', $start + 18000, '-r', 1800));
show('fetch', RRDs::fetch('a.rrd', 'NONE'));
show('fetch', RRDs::fetch('no.rrd', 'MAX'));
show('info', RRDs::info('a.rrd'));
show('info', RRDs::info('no.rrd'));
show('last', RRDs::last('a.rrd'));
show('last', RRDs::last('no.rrd'));
show('first', RRDs::first('a.rrd', '--rraindex', 3));
show('tune', RRDs::tune('a.rrd', '--maximum', 'ds0:1000', '--heartbeat', 'ds1:900'));
show('tune', RRDs::tune('a.rrd', '--maximum', 'no:1000'));
show('times', RRDs::times('end-1day', $start));
show('times', RRDs::times($start, 'start+3weeks'));
show('times', RRDs::times('start-1h', 'end-1h'));
show('times', RRDs::times('when', $start));
show('list', [sort @{RRDs::list('.') || []}]);
show('dump', RRDs::dump('a.rrd', 'a.xml'));
show('restore', RRDs::restore('a.xml', 'r.rrd'));
show('restore', RRDs::restore('a.xml', 'r.rrd'));
show('restore', RRDs::restore('no.xml', 'n.rrd'));
show('info', RRDs::info('r.rrd'));
my @series = ('-s', $start, '-e', $start + 18000, 'DEF:in=a.rrd:ds0:AVERAGE', 'DEF:out=a.rrd:ds1:AVERAGE',
    'DEF:peak=a.rrd:ds0:MAX', 'CDEF:bits=in,8,*');
my @drawing = (@series, 'AREA:in#00cc00:In', 'LINE1:out#0000ff:Out', 'PRINT:in:MAX:%.1lf', 'PRINT:out:AVERAGE:%.1lf%s',
    'GPRINT:peak:LAST:last %5.1lf', 'VRULE:1700005000#ff0000');
show('graph', RRDs::graph('a.png', '--alt-autoscale-max', '-w', 500, '-h', 120, @drawing));
show('graph', RRDs::graph('a.png', 'LINE1:no#0000ff'));
show('graphv', RRDs::graphv('-', @drawing));
show('xport', RRDs::xport(@series, 'XPORT:bits:bits', 'XPORT:out:out'));
show('xport', RRDs::xport(@series));
show('flushcached', RRDs::flushcached('a.rrd'));

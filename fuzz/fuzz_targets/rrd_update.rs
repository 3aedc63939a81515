#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| whit_fuzz::rrd::rrd_update(bytes));

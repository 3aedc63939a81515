#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| whit_fuzz::logs::log_handshake(bytes));

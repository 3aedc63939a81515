//! Every fuzz target under libFuzzer: the variable `WHIT_FUZZ_TARGET` names the one that is run.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<whit_fuzz::Target> = LazyLock::new(|| {
    let wanted = std::env::var("WHIT_FUZZ_TARGET").unwrap_or_default();
    let found = whit_fuzz::TARGETS.iter().find(|(name, _)| *name == wanted);
    let names: Vec<&str> = whit_fuzz::TARGETS.iter().map(|(name, _)| *name).collect();
    found.unwrap_or_else(|| panic!("WHIT_FUZZ_TARGET names none of {names:?}")).1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));

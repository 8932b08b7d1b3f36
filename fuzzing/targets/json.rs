#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| lazuli_testkit::fuzz::Target::named("json").feed(input));

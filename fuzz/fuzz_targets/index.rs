#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| afterrun::fuzzing::index(data));

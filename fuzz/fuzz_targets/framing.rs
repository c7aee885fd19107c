#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| afterrun::fuzzing::framing(data));

// Most mutations break a checksum, and what is behind it would hardly be reached.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    if seed % 8 != 0 {
        afterrun::fuzzing::repair(&mut data[..size]);
    }
    size
});

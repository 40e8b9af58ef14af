//! Feeds arbitrary bytes to the parser of the tab's HTTP upgrade request.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| colab::fuzz::handshake(bytes));

//! Feeds arbitrary bytes to the reader of the JSON-RPC envelope around a page's messages.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| colab::fuzz::envelope(bytes));

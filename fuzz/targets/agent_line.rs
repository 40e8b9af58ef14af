//! Feeds arbitrary bytes to the reader of an agent's lines on stdio.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mcp::fuzz::agent_line(bytes));

mod interleavings;
mod process_end;
mod transcripts;

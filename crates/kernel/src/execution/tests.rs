mod interleavings;
mod losses;
mod transcripts;

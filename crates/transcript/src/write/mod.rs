//! Transcripts in the formats that can be written.

//! What a log consists of: records, each behind its length.
//!
//! | bytes | |
//! |---|---|
//! | 4 | the length of the rest |
//! | 8 | milliseconds since 1970 |
//! | 1 | the kind of record |
//! | … | by kind: a message, or JSON |
//!
//! A message is its channel in one byte, the number of parts in four, and each part behind its length in four.

use std::time::{Duration, SystemTime};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use notebook::RunId;
use serde::{Deserialize, Serialize};
use tokio_util::codec::{Decoder as _, LengthDelimitedCodec};

use crate::messages::{Channel, MessageId};
use crate::{Death, LossCause, Outcome};

/// The longest frame or record. A message of the kernel is no longer than a Jupyter server takes.
const MAX_FRAME_BYTES: usize = 1 << 30;
const LENGTH_BYTES: usize = 4;
/// The time and the kind.
const HEAD_BYTES: usize = 9;

const FROM_KERNEL: u8 = 0;
const TO_KERNEL: u8 = 1;
const NOTE: u8 = 2;
const EVENT: u8 = 3;
const ACKNOWLEDGED: u8 = 4;
const STORED: u8 = 5;

/// Bytes that are no record, or no frame of a protocol in the same form; the cause is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a frame cannot be read: {0}")]
pub struct FormatError(String);

impl FormatError {
    pub fn new(cause: &impl ToString) -> Self {
        Self(cause.to_string())
    }
}

/// Frames on a byte stream: the length in four bytes, big-endian, then as many bytes.
pub fn frames() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(MAX_FRAME_BYTES).new_codec()
}

/// The details of a run, for whoever reads the log later. Written before the request of the run is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    pub run: RunId,
    /// The `msg_id` of its request; `None` if that will be sent later.
    #[serde(default)]
    pub message: Option<MessageId>,
    /// Whatever the writer needs to find its way later.
    #[serde(default)]
    pub data: serde_json::Value,
}

/// One entry of a log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogRecord {
    /// A message of the kernel: header, parent header, metadata, content, buffers.
    FromKernel {
        channel: Channel,
        parts: Vec<Bytes>,
    },
    /// A message that the keeper sent to the kernel.
    ToKernel {
        channel: Channel,
        parts: Vec<Bytes>,
    },
    /// What a client wants to be known about a run.
    Announced(Announcement),
    Event(LogEvent),
    /// The outputs of this run are in its cell, but not reported yet.
    Stored {
        run: RunId,
    },
    /// The outcome of this run is stored and reported.
    Acknowledged {
        run: RunId,
    },
}

/// What happened to the kernel or its keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LogEvent {
    /// A new process of the kernel takes requests. With its `language_info`, a JSON object.
    Ready {
        #[serde(default)]
        language_info: serde_json::Value,
    },
    /// The kernel is being restarted on request: whatever it was sent before is over.
    Restarting,
    /// The kernel's process ended.
    Died { how: String },
    /// A client that owned runs has gone.
    Orphaned,
    /// The log keeps no more outputs of this request, because they exceed a limit.
    Cut { message: MessageId },
    /// A request was withdrawn before the kernel got it.
    Withdrawn { message: MessageId },
    /// The kernel has ended a request, although it has sent no reply or no `idle`.
    Ended { message: MessageId },
    /// The log could not be written, so that records are missing before this: how the requests before it end is not known.
    LogFailed { os_error: i32 },
    #[serde(other)]
    Unknown,
}

impl LogEvent {
    /// The outcome of all earlier requests that this event ends; `None` if they go on.
    pub fn end_of_all(&self) -> Option<Outcome> {
        match self {
            Self::Restarting => Some(Outcome::KernelDied { how: Death::Restarted }),
            Self::Died { how } => Some(Outcome::KernelDied { how: how.clone().into() }),
            Self::LogFailed { os_error } => {
                let cause = LossCause::LogFailed { os_error: *os_error };
                Some(Outcome::Lost { is_started: true, cause })
            }
            _ => None,
        }
    }
}

impl LogRecord {
    /// Appends the record to `out`.
    pub fn write(&self, time: SystemTime, out: &mut BytesMut) {
        let start = out.len();
        out.put_u32(0);
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        out.put_u64(u64::try_from(since.as_millis()).unwrap_or_default());
        match self {
            Self::FromKernel { channel, parts } => put_message(FROM_KERNEL, *channel, parts, out),
            Self::ToKernel { channel, parts } => put_message(TO_KERNEL, *channel, parts, out),
            Self::Announced(announcement) => put_json(NOTE, announcement, out),
            Self::Event(event) => put_json(EVENT, event, out),
            Self::Acknowledged { run } => put_json(ACKNOWLEDGED, run, out),
            Self::Stored { run } => put_json(STORED, run, out),
        }
        let length = u32::try_from(out.len() - start - LENGTH_BYTES).unwrap_or(u32::MAX);
        out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    }

    /// Reads a record without its length. `None` for a kind that is not known.
    fn read(mut bytes: Bytes) -> Result<Option<(SystemTime, Self)>, FormatError> {
        if bytes.len() < HEAD_BYTES {
            return Err(FormatError::new(&"a record without a kind"));
        }
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(bytes.get_u64());
        let record = match bytes.get_u8() {
            FROM_KERNEL => {
                let (channel, parts) = read_message(&mut bytes)?;
                Self::FromKernel { channel, parts }
            }
            TO_KERNEL => {
                let (channel, parts) = read_message(&mut bytes)?;
                Self::ToKernel { channel, parts }
            }
            NOTE => Self::Announced(read_json(&bytes)?),
            EVENT => Self::Event(serde_json::from_slice(&bytes).unwrap_or(LogEvent::Unknown)),
            ACKNOWLEDGED => Self::Acknowledged { run: read_json(&bytes)? },
            STORED => Self::Stored { run: read_json(&bytes)? },
            _ => return Ok(None),
        };
        Ok(Some((time, record)))
    }
}

/// The JSON of a record or a frame.
pub fn read_json<T: for<'de> Deserialize<'de>>(bytes: &Bytes) -> Result<T, FormatError> {
    serde_json::from_slice(bytes).map_err(|error| FormatError::new(&error))
}

/// Appends a record or a frame that is JSON behind its kind.
pub fn put_json(kind: u8, value: &impl Serialize, out: &mut BytesMut) {
    out.put_u8(kind);
    // Strings, numbers and JSON: writing them to memory does not fail.
    let _ = serde_json::to_writer(out.writer(), value);
}

/// Appends a record or a frame that is a message behind its kind.
pub fn put_message(kind: u8, channel: Channel, parts: &[Bytes], out: &mut BytesMut) {
    out.put_u8(kind);
    out.reserve(5 + parts.iter().map(|part| LENGTH_BYTES + part.len()).sum::<usize>());
    out.put_u8(channel as u8);
    out.put_u32(u32::try_from(parts.len()).unwrap_or(u32::MAX));
    for part in parts {
        out.put_u32(u32::try_from(part.len()).unwrap_or(u32::MAX));
        out.put_slice(part);
    }
}

/// Takes a message off `bytes`; its parts are slices of them. Fails if they are too few, or name no channel.
pub fn read_message(bytes: &mut Bytes) -> Result<(Channel, Vec<Bytes>), FormatError> {
    let too_short = || FormatError::new(&"a message is shorter than it says");
    if bytes.len() < 5 {
        return Err(too_short());
    }
    let number = bytes.get_u8();
    let channels = [Channel::Shell, Channel::Control, Channel::Stdin, Channel::Iopub];
    let channel = channels.into_iter().find(|channel| *channel as u8 == number);
    let channel = channel.ok_or_else(|| FormatError::new(&format!("there is no channel {number}")))?;
    let mut parts = Vec::new();
    for _ in 0..bytes.get_u32() {
        if bytes.len() < LENGTH_BYTES {
            return Err(too_short());
        }
        let length = bytes.get_u32() as usize;
        if bytes.len() < length {
            return Err(too_short());
        }
        parts.push(bytes.split_to(length));
    }
    Ok((channel, parts))
}

/// Cuts a log into records, however it arrives.
#[derive(Debug)]
pub struct RecordReader {
    frames: LengthDelimitedCodec,
    buffer: BytesMut,
    /// The offset in the log of the next record.
    offset: u64,
    /// The offset behind what was added.
    end: u64,
}

impl RecordReader {
    /// For a log that is read from `offset` on, where a record begins.
    pub fn at(offset: u64) -> Self {
        Self { frames: frames(), buffer: BytesMut::new(), offset, end: offset }
    }

    /// Adds what comes next in the log.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        self.end += bytes.len() as u64;
    }

    /// The offset behind the last record that was returned or skipped.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The offset behind what was added.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The next whole record that is known here, with its time.
    pub fn next_record(&mut self) -> Result<Option<(SystemTime, LogRecord)>, FormatError> {
        while let Some(record) = self.frames.decode(&mut self.buffer).map_err(|it| FormatError::new(&it))? {
            self.offset += (LENGTH_BYTES + record.len()) as u64;
            if let Some(record) = LogRecord::read(record.freeze())? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message() -> impl Strategy<Value = (Channel, Vec<Bytes>)> {
        let channel =
            prop::sample::select(vec![Channel::Shell, Channel::Control, Channel::Stdin, Channel::Iopub]);
        let part = prop::collection::vec(any::<u8>(), 0..50).prop_map(Bytes::from);
        (channel, prop::collection::vec(part, 0..8))
    }

    fn record() -> impl Strategy<Value = LogRecord> {
        prop_oneof![
            message().prop_map(|(channel, parts)| LogRecord::FromKernel { channel, parts }),
            message().prop_map(|(channel, parts)| LogRecord::ToKernel { channel, parts }),
            ".*".prop_map(|run| LogRecord::Acknowledged { run: run.into() }),
            ".*".prop_map(|run| LogRecord::Stored { run: run.into() }),
            ".*".prop_map(|how| LogRecord::Event(LogEvent::Died { how })),
            Just(LogRecord::Event(LogEvent::Restarting)),
            (".*", ".*").prop_map(|(run, data)| {
                LogRecord::Announced(Announcement { run: run.into(), message: None, data: data.into() })
            }),
        ]
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(records in prop::collection::vec(record(), 0..20), cut in 1_usize..30) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
            let mut log = BytesMut::new();
            for record in &records {
                record.write(time, &mut log);
            }
            let (mut reader, mut read) = (RecordReader::at(7), Vec::new());
            for chunk in log.chunks(cut) {
                reader.push(chunk);
                while let Some((its_time, record)) = reader.next_record().unwrap() {
                    prop_assert_eq!(its_time, time);
                    read.push(record);
                }
            }
            prop_assert_eq!(read, records);
            prop_assert_eq!(reader.offset(), 7 + log.len() as u64);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut reader = RecordReader::at(0);
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next_record() {}
            let _ = read_message(&mut Bytes::from(bytes));
        }
    }

    #[test]
    fn records_and_events_of_later_versions_are_skipped() {
        let mut log = BytesMut::new();
        log.put_u32(10);
        log.put_u64(0);
        log.put_slice(&[99, 1]);
        LogRecord::Event(LogEvent::Restarting).write(SystemTime::now(), &mut log);
        let mut reader = RecordReader::at(0);
        reader.push(&log);
        assert_eq!(reader.next_record().unwrap().unwrap().1, LogRecord::Event(LogEvent::Restarting));
        for later in [r#"{"event": "moved", "to": 3}"#, r#""moved""#, r#"{"event": "died", "why": 3}"#] {
            let mut bytes = BytesMut::new();
            bytes.put_u64(0);
            bytes.put_u8(EVENT);
            bytes.put_slice(later.as_bytes());
            let read = LogRecord::read(bytes.freeze()).unwrap().unwrap().1;
            assert_eq!(read, LogRecord::Event(LogEvent::Unknown), "{later}");
        }
    }

    #[test]
    fn a_record_that_is_not_whole_yet_is_waited_for() {
        let mut log = BytesMut::new();
        LogRecord::Acknowledged { run: "r1".into() }.write(SystemTime::now(), &mut log);
        let mut reader = RecordReader::at(0);
        reader.push(&log[..log.len() - 1]);
        assert_eq!(reader.next_record(), Ok(None));
        assert_eq!(reader.offset(), 0);
    }
}

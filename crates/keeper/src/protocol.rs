//! The frames between a client and a keeper: a tag in one byte, then JSON or, where messages of the kernel pass, binary.

use std::time::SystemTime;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use kernel::MessageId;
use kernel::log::{
    Announcement, Channel, FormatError, RunRecord, frames, put_json, put_message, read_json, read_message,
};
use notebook::RunId;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::LengthDelimitedCodec;

/// The directions of a connection between the two.
pub type FramedRead<R> = tokio_util::codec::FramedRead<R, LengthDelimitedCodec>;
pub type FramedWrite<W> = tokio_util::codec::FramedWrite<W, LengthDelimitedCodec>;

/// Frames over a stream of bytes, in both directions.
pub fn framed<R: AsyncRead, W: AsyncWrite>((read, write): (R, W)) -> (FramedRead<R>, FramedWrite<W>) {
    (FramedRead::new(read, frames()), FramedWrite::new(write, frames()))
}

/// The version of the protocol. It changes only where an old keeper or client could not go on.
pub const VERSION: u32 = 1;

/// The first frame of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: u32,
    /// The client's process, for people.
    #[serde(default)]
    pub process: u32,
}

/// The answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub version: u32,
    pub kernel: KernelStatus,
    /// When a client last sent the kernel something.
    pub last_request: SystemTime,
    /// The processes of the clients that follow the log.
    #[serde(default)]
    pub attached: Vec<u32>,
    /// How many runs nobody has acknowledged whose clients are gone.
    #[serde(default)]
    pub orphans: usize,
}

/// What a keeper knows of its kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelStatus {
    pub phase: KernelPhase,
    /// Whether it works on something.
    #[serde(default)]
    pub is_busy: bool,
    /// The `language_info` that it reported, a JSON object.
    #[serde(default)]
    pub language_info: serde_json::Value,
    /// Its process, while there is one.
    #[serde(default)]
    pub process: Option<u32>,
}

/// What the kernel's process does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum KernelPhase {
    Starting,
    Running,
    Dead { how: String },
}

/// The runs that a client has adopted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdoptedRuns {
    /// The kernel at this moment.
    pub kernel: KernelStatus,
    pub runs: Vec<RunRecord>,
    /// Where in the log the first of them begins; the end of the log if there is none.
    pub from: u64,
    /// The end of the log.
    pub end: u64,
}

/// What a client sends.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientFrame {
    Hello(Hello),
    /// Take over the runs whose clients are gone.
    Adopt,
    /// Send the log from this offset on.
    Follow {
        offset: u64,
    },
    /// To be appended to the log.
    Announce(Announcement),
    /// For the kernel: header, parent header, metadata, content, buffers.
    Send {
        channel: Channel,
        parts: Vec<Bytes>,
    },
    /// The outputs of this run are in its cell; they must still be reported.
    Store {
        run: RunId,
    },
    /// The outcome of this run is stored and reported.
    Acknowledge {
        run: RunId,
    },
    /// Interrupt the kernel; if the request of this id has not reached it, withdraw that instead.
    Interrupt {
        message: Option<MessageId>,
    },
    /// Start another process of the kernel, in place of the one that runs.
    Restart,
    /// End the kernel and the keeper.
    End,
    /// A frame of a later version.
    Unknown,
}

/// What a keeper sends.
#[derive(Debug, Clone, PartialEq)]
pub enum KeeperFrame {
    Welcome(Welcome),
    /// The versions do not fit; this keeper's.
    Refused {
        version: u32,
    },
    Adopted(AdoptedRuns),
    /// A part of the log, which need not end where a record does.
    Records {
        offset: u64,
        bytes: Bytes,
    },
    /// The kernel could not be started; for people.
    Failed {
        cause: String,
    },
    /// The log could not be written after `end`. The client is sent nothing that comes after it.
    LogFailed {
        end: u64,
        os_error: i32,
    },
    /// A frame of a later version.
    Unknown,
}

const HELLO: u8 = 1;
const ADOPT: u8 = 2;
const FOLLOW: u8 = 3;
const NOTE: u8 = 4;
const SEND: u8 = 5;
const ACKNOWLEDGE: u8 = 6;
const INTERRUPT: u8 = 7;
const RESTART: u8 = 8;
const END: u8 = 9;
const STORE: u8 = 10;

const WELCOME: u8 = 1;
const REFUSED: u8 = 2;
const ADOPTED: u8 = 3;
const RECORDS: u8 = 4;
const FAILED: u8 = 5;
const LOG_FAILED: u8 = 6;

impl ClientFrame {
    /// The payload of a frame.
    pub fn write(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Hello(hello) => put_json(HELLO, hello, &mut out),
            Self::Adopt => out.put_u8(ADOPT),
            Self::Follow { offset } => {
                out.put_u8(FOLLOW);
                out.put_u64(*offset);
            }
            Self::Announce(announcement) => put_json(NOTE, announcement, &mut out),
            Self::Send { channel, parts } => put_message(SEND, *channel, parts, &mut out),
            Self::Acknowledge { run } => put_json(ACKNOWLEDGE, run, &mut out),
            Self::Store { run } => put_json(STORE, run, &mut out),
            Self::Interrupt { message } => put_json(INTERRUPT, message, &mut out),
            Self::Restart => out.put_u8(RESTART),
            Self::End => out.put_u8(END),
            Self::Unknown => {}
        }
        out.freeze()
    }

    /// Reads the payload of a frame. Fails if it is malformed; one of a later version is [`ClientFrame::Unknown`].
    pub fn read(mut payload: Bytes) -> Result<Self, FormatError> {
        Ok(match tag(&mut payload)? {
            HELLO => Self::Hello(read_json(&payload)?),
            ADOPT => Self::Adopt,
            FOLLOW => Self::Follow { offset: number(&mut payload)? },
            NOTE => Self::Announce(read_json(&payload)?),
            SEND => {
                let (channel, parts) = read_message(&mut payload)?;
                Self::Send { channel, parts }
            }
            ACKNOWLEDGE => Self::Acknowledge { run: read_json(&payload)? },
            STORE => Self::Store { run: read_json(&payload)? },
            INTERRUPT => Self::Interrupt { message: read_json(&payload)? },
            RESTART => Self::Restart,
            END => Self::End,
            _ => Self::Unknown,
        })
    }
}

impl KeeperFrame {
    /// The payload of a frame.
    pub fn write(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Welcome(welcome) => put_json(WELCOME, welcome, &mut out),
            Self::Refused { version } => put_json(REFUSED, version, &mut out),
            Self::Adopted(adopted) => put_json(ADOPTED, adopted, &mut out),
            Self::Records { offset, bytes } => {
                out.reserve(9 + bytes.len());
                out.put_u8(RECORDS);
                out.put_u64(*offset);
                out.put_slice(bytes);
            }
            Self::Failed { cause } => put_json(FAILED, cause, &mut out),
            Self::LogFailed { end, os_error } => put_json(LOG_FAILED, &(end, os_error), &mut out),
            Self::Unknown => {}
        }
        out.freeze()
    }

    /// Reads the payload of a frame. Fails if it is malformed; one of a later version is [`KeeperFrame::Unknown`].
    pub fn read(mut payload: Bytes) -> Result<Self, FormatError> {
        Ok(match tag(&mut payload)? {
            WELCOME => Self::Welcome(read_json(&payload)?),
            REFUSED => Self::Refused { version: read_json(&payload)? },
            ADOPTED => Self::Adopted(read_json(&payload)?),
            RECORDS => Self::Records { offset: number(&mut payload)?, bytes: payload },
            FAILED => Self::Failed { cause: read_json(&payload)? },
            LOG_FAILED => {
                let (end, os_error) = read_json(&payload)?;
                Self::LogFailed { end, os_error }
            }
            _ => Self::Unknown,
        })
    }
}

fn tag(payload: &mut Bytes) -> Result<u8, FormatError> {
    if payload.is_empty() { Err(FormatError::new(&"it is empty")) } else { Ok(payload.get_u8()) }
}

fn number(payload: &mut Bytes) -> Result<u64, FormatError> {
    if payload.len() < 8 { Err(FormatError::new(&"it has no offset")) } else { Ok(payload.get_u64()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn announcement() -> Announcement {
        Announcement {
            run: "r1".into(),
            message: Some("m".into()),
            data: json!({ "cell": "c", "agent": null }),
        }
    }

    #[test]
    fn frames_of_clients_are_read_as_they_were_written() {
        let frames = [
            ClientFrame::Hello(Hello { version: VERSION, process: 7 }),
            ClientFrame::Adopt,
            ClientFrame::Follow { offset: 1 << 40 },
            ClientFrame::Announce(announcement()),
            ClientFrame::Send { channel: Channel::Stdin, parts: vec!["a".into(), "".into()] },
            ClientFrame::Acknowledge { run: "r1".into() },
            ClientFrame::Store { run: "r1".into() },
            ClientFrame::Interrupt { message: None },
            ClientFrame::Interrupt { message: Some("m".into()) },
            ClientFrame::Restart,
            ClientFrame::End,
        ];
        for frame in frames {
            assert_eq!(ClientFrame::read(frame.write()), Ok(frame));
        }
    }

    #[test]
    fn frames_of_keepers_are_read_as_they_were_written() {
        let time = SystemTime::UNIX_EPOCH;
        let kernel = KernelStatus {
            phase: KernelPhase::Dead { how: "exit code 1".to_owned() },
            is_busy: true,
            language_info: json!({ "name": "python" }),
            process: None,
        };
        let welcome = Welcome {
            version: VERSION,
            kernel: kernel.clone(),
            last_request: time,
            attached: vec![1, 2],
            orphans: 3,
        };
        let runs = vec![RunRecord {
            announcement: announcement(),
            announced_at: time,
            is_stored: true,
            is_acknowledged: false,
        }];
        let frames = [
            KeeperFrame::Welcome(welcome),
            KeeperFrame::Refused { version: 2 },
            KeeperFrame::Adopted(AdoptedRuns { kernel, runs, from: 3, end: 4 }),
            KeeperFrame::Records { offset: 5, bytes: "log".into() },
            KeeperFrame::Failed { cause: "no".to_owned() },
            KeeperFrame::LogFailed { end: 6, os_error: 28 },
        ];
        for frame in frames {
            assert_eq!(KeeperFrame::read(frame.write()), Ok(frame));
        }
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        assert_eq!(ClientFrame::read(Bytes::from_static(&[200, 1, 2])), Ok(ClientFrame::Unknown));
        assert_eq!(KeeperFrame::read(Bytes::from_static(&[200])), Ok(KeeperFrame::Unknown));
        let hello = b"\x01{\"version\": 9, \"colour\": \"green\"}";
        let read = ClientFrame::read(Bytes::from_static(hello)).unwrap();
        assert_eq!(read, ClientFrame::Hello(Hello { version: 9, process: 0 }));
    }

    #[test]
    fn malformed_frames_are_errors() {
        for payload in
            [&b""[..], b"\x01", b"\x03abc", b"\x05\x00\x00\x00\x00\x02\x00\x00\x00\x09a", b"\x05\x09"]
        {
            assert!(ClientFrame::read(Bytes::copy_from_slice(payload)).is_err(), "{payload:?}");
        }
    }
}

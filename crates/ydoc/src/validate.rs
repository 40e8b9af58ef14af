//! Checks bytes from others before the library decodes them: it decodes nested values by recursion and allocates memory for
//! as many values as the bytes announce, so a few bytes could end the program.
//!
//! The format is version 1 of Yjs' updates, <https://github.com/yjs/yjs/blob/main/src/utils/UpdateEncoder.js>.

use crate::YError;
use crate::frame::Reader;

/// The deepest nesting of values; JSON readers refuse deeper ones, too.
const MAX_DEPTH: usize = 256;

/// The largest client id, which is the largest integer that JavaScript represents exactly. The library panics on larger
/// ids or confuses them with others.
pub(crate) const MAX_CLIENT: u64 = (1 << 53) - 1;

/// Checks an update. The library can still refuse it.
pub(crate) fn check_update(update: &[u8]) -> Result<(), YError> {
    let mut walk = Walk(Reader(update));
    for _ in 0..walk.count()? {
        let blocks = walk.count()?;
        walk.client()?;
        let mut clock = walk.number()?;
        for _ in 0..blocks {
            clock = clock.saturating_add(walk.block()?);
        }
        if clock > u64::from(u32::MAX) {
            return Err(malformed("too many changes"));
        }
    }
    for _ in 0..walk.count()? {
        walk.client()?;
        for _ in 0..walk.count()? {
            if walk.number()?.saturating_add(walk.number()?) > u64::from(u32::MAX) {
                return Err(malformed("too many deletions"));
            }
        }
    }
    Ok(())
}

/// Checks a state vector.
pub(crate) fn check_state_vector(state_vector: &[u8]) -> Result<(), YError> {
    let mut walk = Walk(Reader(state_vector));
    for _ in 0..walk.count()? {
        walk.client()?;
        walk.number()?;
    }
    Ok(())
}

pub(crate) fn malformed(problem: &str) -> YError {
    YError::Malformed(problem.to_owned())
}

struct Walk<'a>(Reader<'a>);

impl Walk<'_> {
    fn number(&mut self) -> Result<u64, YError> {
        self.0.number().ok_or_else(|| malformed("a number is truncated"))
    }

    fn client(&mut self) -> Result<(), YError> {
        match self.number()? {
            0..=MAX_CLIENT => Ok(()),
            _ => Err(malformed("an invalid client id")),
        }
    }

    /// The number of items that follow; each takes at least one byte.
    fn count(&mut self) -> Result<u64, YError> {
        let count = self.number()?;
        if count > self.0.0.len() as u64 {
            return Err(malformed("it announces more items than it contains"));
        }
        Ok(count)
    }

    fn bytes(&mut self) -> Result<u64, YError> {
        let bytes = self.0.bytes().ok_or_else(|| malformed("a text is truncated"))?;
        Ok(bytes.len() as u64)
    }

    fn skip(&mut self, length: usize) -> Result<(), YError> {
        let rest = self.0.0.get(length..).ok_or_else(|| malformed("a value is truncated"))?;
        self.0.0 = rest;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, YError> {
        let byte = self.0.0.first().copied().ok_or_else(|| malformed("it is truncated"))?;
        self.skip(1)?;
        Ok(byte)
    }

    fn id(&mut self) -> Result<(), YError> {
        self.client()?;
        self.number()?;
        Ok(())
    }

    /// Checks one change. Returns by how much it advances the clock at most.
    fn block(&mut self) -> Result<u64, YError> {
        let info = self.byte()?;
        if info == 0 || info == 10 {
            return self.number();
        }
        let (has_origin, has_right_origin) = (info & 0x80 != 0, info & 0x40 != 0);
        for _ in 0..u8::from(has_origin) + u8::from(has_right_origin) {
            self.id()?;
        }
        if !has_origin && !has_right_origin {
            match self.number()? {
                1 => {
                    self.bytes()?;
                }
                _ => self.id()?,
            }
            if info & 0x20 != 0 {
                self.bytes()?;
            }
        }
        self.content(info & 0x0f)
    }

    fn content(&mut self, kind: u8) -> Result<u64, YError> {
        match kind {
            // Deleted.
            1 => self.number(),
            // JSON text, whose depth the library limits itself. It reads one item more than announced.
            2 => {
                let count = self.count()?;
                for _ in 0..=count {
                    self.bytes()?;
                }
                Ok(count + 1)
            }
            // Binary, or an embedded object as JSON text.
            3 | 5 => self.bytes().map(|_| 1),
            // Text.
            4 => self.bytes(),
            // Formatting: its name and JSON text.
            6 => self.bytes().and_then(|_| self.bytes()).map(|_| 1),
            7 => self.shared_type(),
            8 => {
                let count = self.count()?;
                for _ in 0..count {
                    self.any()?;
                }
                Ok(count)
            }
            // Another document.
            9 => self.bytes().and_then(|_| self.any()).map(|()| 1),
            _ => Err(malformed("a change of an unknown type")),
        }
    }

    fn shared_type(&mut self) -> Result<u64, YError> {
        match self.number()? {
            // An XML element has a name.
            3 => self.bytes().map(|_| 1),
            0..=6 | 9 | 15 => Ok(1),
            _ => Err(malformed("an unknown shared type")),
        }
    }

    /// A plain value, in the encoding of <https://github.com/dmonad/lib0/blob/main/encoding.js>.
    fn any(&mut self) -> Result<(), YError> {
        // For each open list or object: the number of values that follow, and whether they have names.
        let mut open: Vec<(u64, bool)> = vec![(1, false)];
        while let Some((left, has_names)) = open.last_mut() {
            if *left == 0 {
                open.pop();
                continue;
            }
            *left -= 1;
            if *has_names {
                self.bytes()?;
            }
            match self.byte()? {
                120 | 121 | 126 | 127 => {}
                122 | 123 => self.skip(8)?,
                124 => self.skip(4)?,
                // A signed number is encoded in the same bytes as an unsigned one.
                125 => while self.byte()? & 0x80 != 0 {},
                116 | 119 => {
                    self.bytes()?;
                }
                kind @ (117 | 118) => {
                    if open.len() > MAX_DEPTH {
                        return Err(YError::TooDeep(MAX_DEPTH));
                    }
                    open.push((self.count()?, kind == 118));
                }
                _ => return Err(malformed("a value of an unknown type")),
            }
        }
        Ok(())
    }
}

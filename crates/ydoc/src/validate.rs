//! Looks over bytes of others before the library reads them: it reads nested values by recursion and makes room for as
//! many as it is told, so that a few bytes could end the program.
//!
//! The format is version 1 of Yjs' updates, <https://github.com/yjs/yjs/blob/main/src/utils/UpdateEncoder.js>.

use crate::YError;
use crate::frame::Reader;

/// Deeper values are in no notebook: JSON readers refuse them too.
const DEEPEST: usize = 256;

/// The largest id that a client can have: a whole number that JavaScript holds exactly. The library asserts it, or
/// mistakes a larger one for another client.
pub(crate) const LARGEST_CLIENT: u64 = (1 << 53) - 1;

/// Checks an update. It may still be refused by the library.
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
            return Err(malformed("more changes than there can be"));
        }
    }
    for _ in 0..walk.count()? {
        walk.client()?;
        for _ in 0..walk.count()? {
            if walk.number()?.saturating_add(walk.number()?) > u64::from(u32::MAX) {
                return Err(malformed("more deletions than there can be"));
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
        self.0.number().ok_or_else(|| malformed("a number is cut short"))
    }

    fn client(&mut self) -> Result<(), YError> {
        match self.number()? {
            0..=LARGEST_CLIENT => Ok(()),
            _ => Err(malformed("an id that no client can have")),
        }
    }

    /// How many things follow; each takes a byte at least.
    fn count(&mut self) -> Result<u64, YError> {
        let count = self.number()?;
        if count > self.0.0.len() as u64 {
            return Err(malformed("it announces more than it holds"));
        }
        Ok(count)
    }

    fn bytes(&mut self) -> Result<u64, YError> {
        let bytes = self.0.bytes().ok_or_else(|| malformed("a text is cut short"))?;
        Ok(bytes.len() as u64)
    }

    fn skip(&mut self, length: usize) -> Result<(), YError> {
        let rest = self.0.0.get(length..).ok_or_else(|| malformed("a value is cut short"))?;
        self.0.0 = rest;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, YError> {
        let byte = self.0.0.first().copied().ok_or_else(|| malformed("it is cut short"))?;
        self.skip(1)?;
        Ok(byte)
    }

    fn id(&mut self) -> Result<(), YError> {
        self.client()?;
        self.number()?;
        Ok(())
    }

    /// One change; by how much it moves the clock at most.
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
            // Text of JSON, which the library reads with a limit of its own. It takes one more than it is told.
            2 => {
                let count = self.count()?;
                for _ in 0..=count {
                    self.bytes()?;
                }
                Ok(count + 1)
            }
            // Binary, and an embedded object as text of JSON.
            3 | 5 => self.bytes().map(|_| 1),
            // Text.
            4 => self.bytes(),
            // A format: its name and text of JSON.
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
            _ => Err(malformed("a change of an unknown kind")),
        }
    }

    fn shared_type(&mut self) -> Result<u64, YError> {
        match self.number()? {
            // An XML element has a name.
            3 => self.bytes().map(|_| 1),
            0..=6 | 9 | 15 => Ok(1),
            _ => Err(malformed("a shared type of an unknown kind")),
        }
    }

    /// A plain value, in the encoding of <https://github.com/dmonad/lib0/blob/main/encoding.js>.
    fn any(&mut self) -> Result<(), YError> {
        // For each list or object that is open: how many values follow in it, and whether they have names.
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
                // A signed number is as long as an unsigned one.
                125 => while self.byte()? & 0x80 != 0 {},
                116 | 119 => {
                    self.bytes()?;
                }
                kind @ (117 | 118) => {
                    if open.len() > DEEPEST {
                        return Err(YError::TooDeep(DEEPEST));
                    }
                    open.push((self.count()?, kind == 118));
                }
                _ => return Err(malformed("a value of an unknown kind")),
            }
        }
        Ok(())
    }
}

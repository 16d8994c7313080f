//! Where bytes go, compressed on the way where that was asked for.

use std::io::{self, Write};

use flate2::write::GzEncoder;

/// Level of Zstandard: as fast as writing, and much smaller than gzip's fastest.
const ZSTD_LEVEL: i32 = 3;

/// What is written around the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// By the ending of a name; and the name without it.
    pub(super) fn of(name: &str) -> (Compression, &str) {
        let zstd = || Some((Compression::Zstd, name.strip_suffix(".zst")?));
        match name.strip_suffix(".gz") {
            Some(stem) => (Compression::Gzip, stem),
            None => zstd().unwrap_or((Compression::None, name)),
        }
    }
}

/// A writer that has an end.
pub(super) enum Out<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Out<W> {
    pub(super) fn new(to: W, compression: Compression) -> io::Result<Out<W>> {
        Ok(match compression {
            Compression::None => Out::Plain(to),
            Compression::Gzip => Out::Gzip(GzEncoder::new(to, flate2::Compression::default())),
            Compression::Zstd => Out::Zstd(zstd::Encoder::new(to, ZSTD_LEVEL)?),
        })
    }

    /// Writes what is left.
    pub(super) fn end(self) -> io::Result<()> {
        let mut to = match self {
            Out::Plain(to) => to,
            Out::Gzip(encoder) => encoder.finish()?,
            Out::Zstd(encoder) => encoder.finish()?,
        };
        to.flush()
    }
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Plain(to) => to.write(bytes),
            Out::Gzip(to) => to.write(bytes),
            Out::Zstd(to) => to.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Plain(to) => to.flush(),
            Out::Gzip(to) => to.flush(),
            Out::Zstd(to) => to.flush(),
        }
    }
}

//! What is missing of a Parquet file.

/// How one can tell that a file is not whole Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetFault {
    /// Shorter than magic, footer length and magic.
    #[error("{bytes} bytes are too few for a footer")]
    TooShort {
        /// Its length.
        bytes: u64,
    },
    /// The file does not begin with `PAR1`.
    #[error("it begins with {found:02x?}, not with `PAR1`")]
    Head {
        /// What it begins with.
        found: [u8; 4],
    },
    /// The file begins like Parquet and does not end like it.
    #[error("it ends with {found:02x?}, not with `PAR1`: it is truncated (at {bytes} bytes)")]
    Tail {
        /// What it ends with.
        found: [u8; 4],
        /// Its length.
        bytes: u64,
    },
    /// The file ends with `PARE`: its footer is encrypted.
    #[error("its footer is encrypted; write it anew without encryption")]
    Encrypted,
    /// Columns are encrypted, the footer is not.
    #[error("its columns are encrypted; --columns takes those that are not, else write it anew")]
    EncryptedColumns,
}

//! What a file holds: by its first bytes, then by its ending.

use crate::file::Kind;

/// What the first bytes and the ending say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// One that can be loaded.
    Known(Kind),
    /// A format that cannot be loaded, and what to do about it.
    Other(&'static str, &'static str),
    /// Text of unknown meaning.
    Text,
    /// Nothing that is known.
    Unknown,
}

const AS_PARQUET: &str = "write it as Parquet with a tool that reads it";

/// Formats that are told by their first bytes and not loaded.
const OTHERS: [(&[u8], &str, &str); 7] = [
    (b"FEA1", "Feather of the first version", "read it with pyarrow.feather and put the table"),
    (b"ORC", "ORC", "read it with pyarrow.orc and put the table"),
    (b"Obj\x01", "Avro", AS_PARQUET),
    (b"\x89HDF", "HDF5", "read it with pandas and put the table"),
    (b"\x93NUMPY", "a NumPy array", "load it with numpy and put it in a dict of columns"),
    (b"SQLite format 3", "a SQLite database", AS_PARQUET),
    (b"%PDF", "PDF", AS_PARQUET),
];

/// Where a tar archive says that it is one.
const TAR_AT: usize = 257;

/// Decides by the first bytes of the unpacked file and its name in lower case.
pub(super) fn seen(head: &[u8], name: &str) -> Seen {
    if head.starts_with(b"PAR1") || head.starts_with(b"PARE") {
        return Seen::Known(Kind::Parquet);
    }
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let arrow = matches!(ending, "arrow" | "arrows" | "feather" | "ipc");
    if head.starts_with(b"ARROW1") || arrow && head.starts_with(&[0xff; 4]) || is_stream(head) {
        return Seen::Known(Kind::Arrow);
    }
    if head.get(TAR_AT..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        return Seen::Other(
            "a tar archive",
            "unpack it, or pipe one file of it: tar -xOf ARCHIVE FILE | cenote put - --format csv",
        );
    }
    if let Some((_, what, way_out)) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Seen::Other(what, way_out);
    }
    match ending {
        "csv" | "tsv" => Seen::Known(Kind::Csv),
        "parquet" | "parq" | "pq" => Seen::Known(Kind::Parquet),
        "json" | "jsonl" | "ndjson" => Seen::Known(Kind::Json),
        _ if arrow => Seen::Known(Kind::Arrow),
        _ if head.contains(&0) && !is_utf16(head) => Seen::Unknown,
        _ => Seen::Text,
    }
}

/// Endings that say nothing of what a text holds.
const VAGUE: [&str; 6] = ["txt", "dat", "data", "tab", "psv", "out"];

/// Whether a text that was named may be taken for CSV or JSON lines: no ending says that it is
/// something else. A number, or one that is longer than endings are, is none.
pub(super) fn may_be_table(name: &str) -> bool {
    let Some((_, ending)) = name.rsplit_once('.') else { return true };
    let is_ending = ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.len() <= 10
        && ending.chars().all(|c| c.is_ascii_alphanumeric());
    !is_ending || VAGUE.contains(&ending)
}

/// What a text without a telling name most likely is.
pub(super) fn of_text(head: &[u8]) -> Kind {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') { Kind::Json } else { Kind::Csv }
}

/// A marker, the length of a small message, and no text.
fn is_stream(head: &[u8]) -> bool {
    let Some([0xff, 0xff, 0xff, 0xff, length @ ..]) = head.first_chunk::<8>() else { return false };
    (8..1 << 24).contains(&i32::from_le_bytes(*length))
}

pub(super) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

pub(crate) fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_goes_before_the_ending() {
        assert_eq!(seen(b"PAR1....", "x.csv"), Seen::Known(Kind::Parquet));
        assert_eq!(seen(b"ARROW1\0\0", "x"), Seen::Known(Kind::Arrow));
        assert_eq!(seen(b"\xff\xff\xff\xff\x10\x01\0\0", "x"), Seen::Known(Kind::Arrow));
        assert!(matches!(seen(b"ORC\x08", "x.parquet"), Seen::Other("ORC", _)));
        assert_eq!(seen(b"a,b", "x.csv"), Seen::Known(Kind::Csv));
        assert_eq!(seen(b"{}", "x.ndjson"), Seen::Known(Kind::Json));
        assert_eq!((seen(b"a,b", "x"), seen(b"\0", "x")), (Seen::Text, Seen::Unknown));
        for name in ["x", "x.txt", "prices.2024", "v1.5", "a.b c", "x.dat"] {
            assert!(may_be_table(name), "{name}");
        }
        for name in ["x.py", "x.md", "x.html", "x.xlsx", "x.toml"] {
            assert!(!may_be_table(name), "{name}");
        }
        assert_eq!((of_text(b"\xef\xbb\xbf {}"), of_text(b"a,b")), (Kind::Json, Kind::Csv));
    }
}

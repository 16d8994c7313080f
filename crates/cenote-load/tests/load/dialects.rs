//! CSV as people and other programs write it.

use arrow_array::RecordBatch;
use cenote_load::{CsvOptions, LoadError, Options};

use crate::{load_csv, shown, types};

fn with(csv: CsvOptions) -> Options {
    Options { csv, ..Options::default() }
}

fn read(content: &[u8], csv: CsvOptions) -> RecordBatch {
    load_csv(content, &with(csv)).unwrap()
}

#[test]
fn the_delimiter_is_found_where_the_first_lines_agree_on_one() {
    let wanted = "a,b\n1,x\n2,y\n";
    for text in ["a;b\n1;x\n2;y\n", "a\tb\n1\tx\n2\ty\n", "a|b\n1|x\n2|y\n", wanted] {
        let batch = load_csv(text.as_bytes(), &Options::default()).unwrap();
        assert_eq!(shown(&batch), wanted, "{text}");
    }
    // a decimal comma is no delimiter, and one that is quoted is none either
    let batch = read(
        b"a;\"b,c\"\n1,5;\"x,y\"\n2;y\n",
        CsvOptions { decimal: b',', ..CsvOptions::default() },
    );
    assert_eq!(
        (shown(&batch).as_str(), &types(&batch)[0][..]),
        ("a,\"b,c\"\n1.5,\"x,y\"\n2.0,y\n", "Float64")
    );
    // no agreement: a comma, so one column
    let batch = load_csv(b"a;b\nx\ny;z;w\n", &Options::default()).unwrap();
    assert_eq!(batch.num_columns(), 1);
    // what is said wins
    let options = Options { delimiter: Some(b'|'), ..Options::default() };
    assert_eq!(load_csv(b"a;b\n1;2\n", &options).unwrap().num_columns(), 1);
}

#[test]
fn encodings_are_decoded() {
    let text = "name,city\n\u{c9}va,Z\u{fc}rich\nZo\u{eb},\u{c5}re\n";
    let wanted = load_csv(text.as_bytes(), &Options::default()).unwrap();
    let utf16 = |little: bool| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units
            .flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() })
            .collect()
    };
    for bytes in [utf16(true), utf16(false)] {
        assert_eq!(load_csv(&bytes, &Options::default()).unwrap(), wanted);
    }
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(c as u32).unwrap()).collect();
    for label in ["latin1", "windows-1252", "ISO-8859-1"] {
        let csv = CsvOptions { encoding: Some(label.into()), ..CsvOptions::default() };
        assert_eq!(read(&latin, csv), wanted, "{label}");
    }
    let csv = CsvOptions { encoding: Some("gb18030".into()), ..CsvOptions::default() };
    assert_eq!(
        shown(&read(b"a,b\n1,\xd6\xd0\xce\xc4\n", csv.clone())),
        "a,b\n1,\u{4e2d}\u{6587}\n"
    );

    let error = load_csv(b"a,b\n1,x\n2,\xff\xff\n", &with(csv)).unwrap_err();
    let LoadError::Io { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.to_string(), "line 3: not gb18030");
    let csv = CsvOptions { encoding: Some("latin9000".into()), ..CsvOptions::default() };
    let text = load_csv(b"a\n", &with(csv)).unwrap_err().to_string();
    assert!(text.contains("`latin9000`") && text.contains("windows-1252"), "{text}");
}

/// Characters that lie across the blocks in which a file is decoded.
#[test]
fn long_texts_are_decoded_like_short_ones() {
    let mut text = String::from("n,s\n");
    for row in 0..60_000 {
        text += &format!("{row},\u{e9}\u{4e2d}{}\n", "x".repeat(row % 7));
    }
    let wanted = load_csv(text.as_bytes(), &Options::default()).unwrap();
    let bytes: Vec<u8> =
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(load_csv(&bytes, &Options::default()).unwrap(), wanted);
    // and errors still know their line
    let broken = text + "1,2,3\n";
    let bytes: Vec<u8> =
        std::iter::once(0xfeff).chain(broken.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let error = load_csv(&bytes, &Options::default()).unwrap_err().to_string();
    assert!(error.ends_with("line 60002: 3 fields where the first record has 2"), "{error}");
}

#[test]
fn numbers_with_marks() {
    let german = CsvOptions { decimal: b',', thousands: Some(b'.'), ..CsvOptions::default() };
    let batch = read(b"a;b;c\n1.234;1.234,5;1.23\n-1.234.567;0,25;7\n;-,5;1.234\n", german);
    assert_eq!(types(&batch), ["Int64", "Float64", "Utf8"]);
    assert_eq!(shown(&batch), "a,b,c\n1234,1234.5,1.23\n-1234567,0.25,7\n-,-0.5,1.234\n");
    let options = Options {
        schema: cenote_load::parse_schema("a:int32,b:decimal128(9,2)").ok(),
        ..with(CsvOptions { thousands: Some(b','), ..CsvOptions::default() })
    };
    let batch = load_csv(b"a;b\n1,234;1,234.5\n", &options).unwrap();
    assert_eq!(shown(&batch), "a,b\n1234,1234.50\n");
}

#[test]
fn dates_in_other_formats() {
    let csv = CsvOptions {
        date_formats: vec!["%d.%m.%Y".into(), "%d.%m.%Y %H:%M".into()],
        ..CsvOptions::default()
    };
    let batch =
        read(b"a,b,c\n8.2.2013,8.2.2013,31.2.2013\n2013-02-09,8.2.2013 09:30,x\n", csv.clone());
    assert_eq!(types(&batch), ["Date32", "Timestamp(s)", "Utf8"]);
    assert_eq!(
        shown(&batch),
        "a,b,c\n2013-02-08,2013-02-08T00:00:00,31.2.2013\n2013-02-09,2013-02-08T09:30:00,x\n"
    );
    // a whole number that is a date under the format is no number, wherever it comes
    let csv = CsvOptions { date_formats: vec!["%Y%m%d".into()], ..CsvOptions::default() };
    let mut text = String::from("a\n") + &"7\n".repeat(200_000);
    assert_eq!(types(&read(text.as_bytes(), csv.clone())), ["Int64"]);
    text += "20130208\n";
    assert_eq!(types(&read(text.as_bytes(), csv.clone())), ["Utf8"]);
    let csv = CsvOptions { date_formats: vec!["%d".into()], ..csv };
    assert!(matches!(load_csv(b"a\n1\n", &with(csv)), Err(LoadError::DateFormat { .. })));
}

#[test]
fn clocks_of_a_zone() {
    let csv = CsvOptions { zone: Some("America/New_York".into()), ..CsvOptions::default() };
    let text = b"at,day,utc\n2013-02-08 09:30:00,2013-02-08,2013-02-08T09:30:00Z\n2013-07-08 09:30:00.5,2013-02-09,2013-02-08T09:30:00Z\n";
    let batch = read(text, csv.clone());
    assert_eq!(
        types(&batch),
        ["Timestamp(ms, \"America/New_York\")", "Date32", "Timestamp(s, \"UTC\")"]
    );
    assert_eq!(
        shown(&batch),
        "at,day,utc\n2013-02-08T09:30:00-05:00,2013-02-08,2013-02-08T09:30:00Z\n2013-07-08T09:30:00.500-04:00,2013-02-09,2013-02-08T09:30:00Z\n"
    );
    // shown twice, and never
    for time in ["2013-11-03 01:30:00", "2013-03-10 02:30:00"] {
        let text = format!("at\n2013-02-08 09:30:00\n{time}\n");
        let error = load_csv(text.as_bytes(), &with(csv.clone())).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains(time), "{error}");
    }
    let csv = CsvOptions { zone: Some("Nowhere/City".into()), ..csv };
    assert!(matches!(load_csv(b"a\n1\n", &with(csv)), Err(LoadError::UnknownZone { .. })));
}

#[test]
fn quotes_escapes_comments_and_lines_to_skip() {
    let wanted = "a,b\n1,\"x,\"\"y\"\"\"\n";
    let csv = CsvOptions { escape: Some(b'\\'), ..CsvOptions::default() };
    assert_eq!(shown(&read(b"a,b\n1,\"x,\\\"y\\\"\"\n", csv)), wanted);
    let csv = CsvOptions { quote: Some(b'\''), ..CsvOptions::default() };
    assert_eq!(shown(&read(b"a,b\n1,'x,\"y\"'\n", csv)), wanted);
    let csv = CsvOptions { quote: None, ..CsvOptions::default() };
    assert_eq!(shown(&read(b"a;b\n1;\"x\n", csv)), "a,b\n1,\"\"\"x\"\n");
    let csv = CsvOptions { comment: "#".into(), skip_lines: 2, ..CsvOptions::default() };
    let text = b"Report, of \"today\n\n# units\na,b\n# one\n1,x\n#two\n2,#y\n";
    assert_eq!(shown(&read(text, csv)), "a,b\n1,x\n2,#y\n");
    let csv = CsvOptions { skip_lines: 9, ..CsvOptions::default() };
    assert!(matches!(load_csv(b"a,b\n", &with(csv)), Err(LoadError::Empty { .. })));
}

#[test]
fn truth_in_other_words() {
    let csv = CsvOptions {
        true_values: vec!["yes".into(), "1".into()],
        false_values: vec!["no".into(), "0".into()],
        ..CsvOptions::default()
    };
    let batch = read(b"a,b,c\nyes,1,1\nno,0,2\nTRUE,1,3\n", csv);
    // 1 is a truth value now, so it fits no number
    assert_eq!(types(&batch), ["Boolean", "Boolean", "Utf8"]);
    assert_eq!(shown(&batch), "a,b,c\ntrue,true,1\nfalse,false,2\ntrue,true,3\n");
}

#[test]
fn short_records_are_filled_where_that_is_asked_for() {
    let text = b"a,b,c\n1,2,3\n4\n5,6\n";
    let error = load_csv(text, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("line 3: 1 field where the first record has 3"), "{error}");
    let csv = CsvOptions { pad_ragged: true, ..CsvOptions::default() };
    assert_eq!(shown(&read(text, csv.clone())), "a,b,c\n1,2,3\n4,-,-\n5,6,-\n");
    let error = load_csv(b"a,b\n1,2,3\n", &with(csv)).unwrap_err().to_string();
    assert!(error.contains("line 2: 3 fields"), "{error}");
}

#[test]
fn columns_of_one_name() {
    let text = b"a,b,a,a_1,a\n1,2,3,4,5\n";
    let error = load_csv(text, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("3 columns `a` (columns 1, 3, 5)"), "{error}");
    assert!(error.contains("--rename-duplicates"), "{error}");
    let csv = CsvOptions { rename_duplicates: true, ..CsvOptions::default() };
    assert_eq!(shown(&read(text, csv)), "a,b,a_2,a_1,a_3\n1,2,3,4,5\n");
}

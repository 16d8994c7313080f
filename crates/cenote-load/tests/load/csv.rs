//! CSV: what it becomes, and what is said when it is broken.

use cenote_load::{LoadError, Options, parse_schema};

use crate::{load_csv, shown, types};

fn default_load(content: &[u8]) -> Result<arrow_array::RecordBatch, LoadError> {
    load_csv(content, &Options::default())
}

fn message(content: &[u8]) -> String {
    default_load(content).unwrap_err().to_string()
}

fn declared(schema: &str) -> Options {
    Options { schema: Some(parse_schema(schema).unwrap()), ..Options::default() }
}

/// The first 100,000 rows are whole numbers, the last is not: a sample would be wrong.
#[test]
fn a_type_that_changes_late_is_seen() {
    let mut text = String::from("a,b\n");
    for row in 0..100_000 {
        text += &format!("{row},{row}\n");
    }
    text += "0.5,x\n";
    let batch = default_load(text.as_bytes()).unwrap();
    assert_eq!(types(&batch), ["Float64", "Utf8"]);
    assert_eq!(batch.num_rows(), 100_001);
}

#[test]
fn prices_get_the_types_one_expects() {
    let batch = default_load(
        b"date,open,volume,Name,live,empty\n2013-02-08,15.07,8407500,AAL,true,\n2013-02-11,,9,AAL,false,\n",
    )
    .unwrap();
    assert_eq!(types(&batch), ["Date32", "Float64", "Int64", "Utf8", "Boolean", "Utf8"]);
    assert_eq!(batch.column(5).null_count(), 2);
    assert_eq!(batch.column(1).null_count(), 1);
}

#[test]
fn dialects_read_alike() {
    let plain = default_load(b"a,b\n1,x\n2,\"y\nz\"\n").unwrap();
    for content in [
        &b"\xef\xbb\xbfa,b\n1,x\n2,\"y\nz\"\n"[..], // byte order mark
        b"a,b\r\n1,x\r\n2,\"y\nz\"\r\n",            // CRLF
        b"a,b\r1,x\r2,\"y\nz\"\r",                  // CR
        b"a,b\n1,x\n2,\"y\nz\"",                    // no last line end
        b"\n\na,b\n\n1,x\n\n2,\"y\nz\"\n\n",        // blank lines
        b"\"a\",\"b\"\n\"1\",\"x\"\n\"2\",\"y\nz\"\n",
    ] {
        assert_eq!(default_load(content).unwrap(), plain, "{}", String::from_utf8_lossy(content));
    }
    let tabs = Options { delimiter: Some(b'\t'), ..Options::default() };
    assert_eq!(load_csv(b"a\tb\n1\tx\n2\t\"y\nz\"\n", &tabs).unwrap(), plain);
}

#[test]
fn a_value_that_begins_like_a_byte_order_mark_keeps_it() {
    let batch = default_load("a,b\n\u{feff}x,1\n".as_bytes()).unwrap();
    assert_eq!(shown(&batch), "a,b\n\u{feff}x,1\n");
}

#[test]
fn headers_only_and_no_headers() {
    let batch = default_load(b"a,b\n").unwrap();
    assert_eq!((batch.num_rows(), types(&batch)), (0, vec!["Utf8".into(), "Utf8".into()]));

    let bare = Options { header: false, ..Options::default() };
    let batch = load_csv(b"1,x\n2,y\n", &bare).unwrap();
    assert_eq!(shown(&batch), "column_1,column_2\n1,x\n2,y\n");
    let named = Options { header: false, ..declared("ms:int32,side:utf8") };
    let batch = load_csv(b"1,x\n2,y\n", &named).unwrap();
    assert_eq!(
        (shown(&batch), types(&batch)[0].clone()),
        ("ms,side\n1,x\n2,y\n".into(), "Int32".into())
    );

    let batch = default_load(b",close\n0,1.5\n").unwrap();
    assert_eq!(batch.schema().field(0).name(), "column_1");
}

#[test]
fn null_values_are_as_told() {
    let options =
        Options { null_values: vec!["N/A".into(), "(none)".into()], ..Options::default() };
    let batch = load_csv(b"a,b\n1,(none)\nN/A,N/A or so\n,z\n", &options).unwrap();
    assert_eq!(types(&batch), ["Int64", "Utf8"]);
    assert_eq!(shown(&batch), "a,b\n1,-\n-,N/A or so\n-,z\n");
}

#[test]
fn declared_types_win() {
    let batch = load_csv(
        b"id,at,p,c\n007,2013-02-08 09:30:00,1.25,IBM\n008,2013-07-08 09:30:00,1.50,IBM\n",
        &declared("c:category,id:int64,\"at\":timestamp[ns, America/New_York],p:decimal128(9,2)"),
    )
    .unwrap();
    assert_eq!(types(&batch)[0], "Int64");
    // winter and summer time, as New York had them
    assert_eq!(
        shown(&batch),
        "id,at,p,c\n7,2013-02-08T09:30:00-05:00,1.25,IBM\n8,2013-07-08T09:30:00-04:00,1.50,IBM\n"
    );
}

#[test]
fn a_value_that_is_not_of_its_declared_type_is_named() {
    let error = load_csv(
        b"day,\"close\"\n2013-02-08,1\n\n2013-02-09,\"1,\n5\"\n",
        &declared("close:float64"),
    );
    let text = error.unwrap_err().to_string();
    assert!(text.contains("x.csv`, line 4, column `close`: `1,\n5` is no Float64"), "{text}");
    assert!(text.contains("--schema 'close:utf8'"), "{text}");

    let mut long = String::from("a,b\n");
    for row in 0..300_000 {
        long += &format!("{row},2013-02-08\n");
    }
    long += &format!("1,{}\n", "x".repeat(1000));
    let text = load_csv(long.as_bytes(), &declared("b:date32")).unwrap_err().to_string();
    assert!(text.contains("line 300002, column `b`: `xxx"), "{text}");
    assert!(text.len() < 300, "{text}");

    let text = load_csv(b"a\n2500-01-01 00:00:00\n", &declared("a:timestamp[ns]")).unwrap_err();
    assert!(matches!(text, LoadError::Value { line: 2, .. }), "{text}");
    let text = load_csv(b"a\n300\n", &declared("a:int8")).unwrap_err();
    assert!(matches!(text, LoadError::Value { line: 2, .. }), "{text}");
}

#[test]
fn a_declared_column_must_exist() {
    let text = load_csv(b"day,close\n", &declared("Close:float64")).unwrap_err().to_string();
    assert_eq!(
        text,
        "column `Close` is declared but the files have `day`, `close`; did you mean \"close\"?"
    );
}

/// A header is taken as it stands, and an error shows the blank.
#[test]
fn a_blank_in_a_name_is_shown() {
    let shown = |error: LoadError| error.to_string();
    let error = load_csv(b"a, b\n1,2\n", &declared("b:int64")).unwrap_err();
    let text = shown(error);
    assert!(text.ends_with("the files have `a`, ` b`; did you mean \" b\"?"), "{text}");
    let options = Options { columns: Some(vec!["A".into()]), ..Options::default() };
    let text = shown(load_csv(b"a, b\n1,2\n", &options).unwrap_err());
    assert!(text.ends_with("did you mean \"a\"?"), "{text}");
    load_csv(b"a, b\n1,2\n", &declared("\" b\":int64")).unwrap();
}

#[test]
fn broken_text_is_named_by_line() {
    assert!(message(b"a,b\n1,2\n3\n").ends_with("line 3: 1 field where the first record has 2"));
    let preamble = message(b"# prices\na,b\n1,2\n");
    assert!(preamble.contains("2 fields where the first record has 1; --skip-lines"), "{preamble}");
    assert!(
        message(b"a,b\r\n1,2\r\n3,4,5\r\n")
            .ends_with("line 3: 3 fields where the first record has 2")
    );
    assert!(message(b"a,b\n1,\"2\n3,4\n").contains("line 2: a quote is opened and never closed"));
    assert!(message(b"a,b\n1,\"2").contains("line 2: a quote is opened and never closed"));
    let text = message(b"a,b\n1,x\n2,Z\xfcrich\n");
    assert!(text.contains("line 3, field 2: not UTF-8 (record at byte 8)"), "{text}");
    // halves of one letter in two fields, which are sound text when read as one
    assert!(message(b"a,b\n\xc3,\xa9\n").contains("line 2, field 1: not UTF-8"));
    assert!(message(b"a\xff,b\n1,2\n").contains("line 1, field 1: not UTF-8"));
    assert!(message(b"").contains("is empty"));
    assert!(message(b"\n\n").contains("is empty"));
}

#[test]
fn bounds_hold() {
    let endless = [b"a,b\n1,\"".to_vec(), vec![b'x'; cenote_load::MAX_RECORD_BYTES + 10]].concat();
    assert!(message(&endless).contains("line 2: a record of more than"));
    let wide = ",".repeat(cenote_load::MAX_COLUMNS + 10);
    assert!(message(wide.as_bytes()).contains("line 1: more than"));
}

/// Quoted line ends, so that cuts that counted lines and not records would be wrong.
#[test]
fn cuts_fall_between_records() {
    let mut text = String::from("n,s\n");
    for row in 0..1000 {
        text += &format!("{row},\"line\r\nof {row}, \"\"quoted\"\"\"\n");
    }
    let whole = default_load(text.as_bytes()).unwrap();
    assert_eq!(whole.num_rows(), 1000);
    for batch_rows in [0, 1, 2, 7, 999, 1000, 1001] {
        let options = Options { batch_rows, ..Options::default() };
        assert_eq!(load_csv(text.as_bytes(), &options).unwrap(), whole, "{batch_rows}");
    }
}

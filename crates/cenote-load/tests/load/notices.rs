//! What a load says though it is no error: columns that one late value made text.

use std::num::NonZero;

use cenote_load::{LoadError, Meter, Notice, Options, Source};

use crate::{folder, load_csv, types};

/// The notices of one file, by both ways to load it, which must agree.
fn notices(content: &[u8], options: &Options) -> Vec<String> {
    let folder = folder(&[("x.csv", content)]);
    let paths = [folder.path().join("x.csv")];
    let meter = Meter::new();
    let source = Source::begin(&paths, options, &meter).unwrap();
    source.load(|_, batches| batches.collect::<Result<Vec<_>, LoadError>>()).unwrap();
    let again = Meter::new();
    Source::open_with(&paths, options, &again).unwrap();
    assert_eq!(meter.notices(), again.notices());
    let folder = format!("{}/", folder.path().display());
    meter.notices().iter().map(|notice| notice.to_string().replace(&folder, "")).collect()
}

#[test]
fn a_late_value_that_makes_a_column_text_is_told() {
    let told = notices(b"n,s\n1,a\n2,b\n\"o\nps\",c\noops,d\n4,e\n", &Options::default());
    assert_eq!(
        told,
        ["column `n` is text: `x.csv`, line 4 has `o\nps`, no int64 like those before it; \
          --schema 'n:int64' makes that an error, --null 'o\nps' a null, and --schema 'n:utf8' \
          says that it is meant"]
    );
    let of = |content: &[u8]| notices(content, &Options::default()).join("");
    assert!(of(b"\"a,b\"\n2013-02-08\nnone\n").contains("no date32 like"));
    assert!(of(b"\"a,b\"\n2013-02-08\nnone\n").contains("--schema '\"a,b\":date32'"));
    assert!(of(b"t\n2013-02-08 09:30:00Z\n-\n").contains("'t:timestamp[s, UTC]' makes"));
    // a number that 64 bits do not hold; a fraction makes it one again
    assert!(of(b"n\n1\n99999999999999999999\n").contains("line 3 has `9999"));
    assert_eq!(of(b"n\n1\n99999999999999999999\n0.5\n"), "");
    // text from the first value on, nothing but nulls, and what was declared or is null
    assert_eq!(of(b"a,b\nx,\n1,\n"), "");
    let declared = cenote_load::parse_schema("n:utf8").unwrap();
    let options = Options { schema: Some(declared), ..Options::default() };
    assert_eq!(notices(b"n\n1\nx\n", &options), [""; 0]);
    let options = Options { null_values: vec!["x".into()], ..Options::default() };
    assert_eq!(notices(b"n\n1\nx\n", &options), [""; 0]);
}

/// Behind what is sampled, in pieces that several threads take.
#[test]
fn the_first_of_several_is_told_whatever_the_threads() {
    let mut text = "n,m\n".to_owned();
    for line in 0..600_000 {
        let n = if line >= 200_000 && line % 50_000 == 1 { "x".into() } else { line.to_string() };
        text += &format!("{n},{}.5\n", line % 7);
    }
    for threads in [1, 4] {
        let options = Options { threads: NonZero::new(threads), ..Options::default() };
        let told = notices(text.as_bytes(), &options);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("column `n` is text: `x.csv`, line 200003 has `x`"), "{told:?}");
    }
}

#[test]
fn of_several_files_the_one_with_the_value_is_named() {
    let folder = folder(&[("a.csv", b"n\n1\n"), ("b.csv", b"\n"), ("c.csv", b"n\n2\n\nnone\n")]);
    let meter = Meter::new();
    let paths = [folder.path().to_path_buf()];
    let source = Source::begin(&paths, &Options::default(), &meter).unwrap();
    source.load(|_, batches| batches.collect::<Result<Vec<_>, LoadError>>()).unwrap();
    let told = meter.notices();
    let [Notice::BecameText { file, line: 4, text, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!((file.path(), text.as_str()), (&*folder.path().join("c.csv"), "none"));
}

#[test]
fn a_number_that_would_be_infinite_is_refused() {
    let default = Options::default();
    let error = |content: &[u8], options: &Options| load_csv(content, options).unwrap_err();
    let text = error(b"a,x\n1,0.5\n2,1e400\n", &default).to_string();
    let wanted = "x.csv`, line 3, column `x`: `1e400` is beyond the range of Float64, where it \
                  would be infinite; --schema 'x:utf8' takes any";
    assert!(text.ends_with(wanted), "{text}");
    for content in [&b"x\n1\n-1e999\n"[..], b"x\n1e400\n", b"x\n0.5\n\" 1E+309\"\n"] {
        assert!(matches!(error(content, &default), LoadError::Beyond { .. }));
    }
    // text is what the other values make of it, whichever comes first
    for content in [&b"x\n0.5\n1e400\na\n"[..], b"x\na\n1e400\n0.5\n"] {
        assert_eq!(types(&load_csv(content, &default).unwrap()), ["Utf8"]);
    }
    let fine = load_csv(b"x\ninf\n-Infinity\n1e308\n1e-400\n", &default).unwrap();
    assert_eq!(types(&fine), ["Float64"]);
    for (schema, limit) in [("x:float64", "1e400"), ("x:float32", "1e39"), ("x:float16", "70000")] {
        let schema = cenote_load::parse_schema(schema).unwrap();
        let options = Options { schema: Some(schema), ..Options::default() };
        let content = format!("x\n-inf\n1e4\n{limit}\n");
        let error = error(content.as_bytes(), &options);
        assert!(
            matches!(&error, LoadError::Beyond { line: 4, text, .. } if text == limit),
            "{error}"
        );
        load_csv(b"x\n-inf\ninfinity\n1e4\n", &options).unwrap();
    }
    let mut csv = cenote_load::CsvOptions { decimal: b',', ..Default::default() };
    csv.thousands = Some(b'.');
    let options = Options { csv, delimiter: Some(b';'), ..Options::default() };
    let error = error(b"x;y\n1.000,5;1\n1e400;2\n", &options);
    assert!(matches!(error, LoadError::Beyond { line: 3, .. }), "{error}");
}

//! JSON lines.

use cenote_load::{Kind, LoadError, Options, parse_schema};

use crate::{folder, load, load_one, open, shown, types};

#[test]
fn all_lines_of_all_files_decide() {
    let mut text = String::from("\u{feff}{\"n\":1,\"s\":\"a\",\"l\":[1]}\n\n");
    text += &"{\"s\":\"b\",\"n\":2}\r\n".repeat(1000);
    text += "{\"n\":2.5,\"o\":{\"x\":true}}";
    let folder = folder(&[("a.jsonl", text.as_bytes()), ("b.json", b"{\"s\":3}\n{}\n")]);
    let batch = load_one(folder.path()).unwrap();
    assert_eq!(batch.num_rows(), 1004);
    let types = types(&batch);
    assert_eq!(types[..2], ["Float64", "Utf8"]);
    assert!(types[2].starts_with("List(") && types[3].starts_with("Struct("), "{types:?}");
    let flat = batch.project(&[0, 1]).unwrap();
    let rows: Vec<String> = shown(&flat).lines().map(str::to_owned).collect();
    assert_eq!((&*rows[1], &*rows[2]), ("1.0,a", "2.0,b"));
    assert_eq!((&*rows[1002], &*rows[1003], &*rows[1004]), ("2.5,-", "-,3", "-,-"));
}

#[test]
fn a_large_file_is_cut_and_stays_in_order() {
    let line = |n: u32| format!("{{\"n\":{n},\"text\":\"{}\"}}\n", "x".repeat(100));
    let text: String = (0..200_000).map(line).collect();
    assert!(text.len() > 20 << 20);
    let folder = folder(&[("x.ndjson", text.as_bytes())]);
    let source = open(folder.path(), &Options::default()).unwrap();
    assert_eq!((source.files()[0].kind(), source.num_rows()), (Kind::Json, Some(200_000)));
    let mut next = 0;
    for batch in source.batches() {
        for n in
            batch.unwrap().column(0).as_any().downcast_ref::<arrow_array::Int64Array>().unwrap()
        {
            assert_eq!(n, Some(next));
            next += 1;
        }
    }
    assert_eq!(next, 200_000);
}

#[test]
fn errors_name_the_line() {
    let case = |text: &str| {
        let folder = folder(&[("x.json", text.as_bytes())]);
        load_one(&folder.path().join("x.json")).unwrap_err().to_string()
    };
    let text = case("{\"a\":1}\n\n{\"a\":[1]}\n");
    assert!(
        text.contains("x.json`, line 3: key `a` has a list here and a number before"),
        "{text}"
    );
    let text = case("{\"a\":1}\n{\"a\":\n");
    assert!(text.contains("line 2: ") && text.contains("one whole object"), "{text}");
    let text = case("[{\"a\":1}]\n");
    assert!(text.contains("line 1") && text.contains("jq -c '.[]'"), "{text}");
    assert!(case(" \n\n").contains("is empty"));
    assert!(case("{}\n{}\n").contains("no key in any of its lines"));
    let text = case("{\"a\":1}\n{\"a\":1,\"b\":2,\"a\":3}\n");
    assert!(text.contains("line 2: key `a` is there twice"), "{text}");
}

#[test]
fn types_can_be_declared() {
    let text = b"{\"at\":\"2024-01-02T03:04:05.678Z\",\"id\":7}\n{\"at\":\"soon\",\"id\":8}\n";
    let folder = folder(&[("x.jsonl", text)]);
    let declared = |schema: &str| {
        let schema = parse_schema(schema).ok();
        load(&[folder.path().join("x.jsonl")], &Options { schema, ..Options::default() })
    };
    assert_eq!(types(&declared("id:utf8").unwrap()), ["Utf8", "Utf8"]);
    let error = declared("at:timestamp[ms, UTC]").unwrap_err();
    assert!(matches!(error, LoadError::Json { line: 2, .. }), "{error:?}");
    let error = declared("nowhere:utf8").unwrap_err();
    assert!(matches!(error, LoadError::UnknownColumn { .. }), "{error:?}");
}

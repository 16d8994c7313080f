//! Large files are split among threads; nothing of that may show.

use std::num::NonZero;

use arrow_array::RecordBatch;
use cenote_load::{LoadError, Meter, Options, Source};

use crate::{folder, load_csv, types};

fn threads(threads: usize) -> Options {
    Options { threads: NonZero::new(threads), ..Options::default() }
}

/// As much text as makes a few pieces of it, with `row` writing each line.
fn text(header: &str, row: impl Fn(usize) -> String) -> String {
    let mut text = format!("{header}\n");
    let mut number = 0;
    while text.len() < 5 << 20 {
        text += &row(number);
        number += 1;
    }
    text
}

/// How often a load calls back: once, and once more for each time that types were too narrow.
fn calls(content: &str) -> (usize, RecordBatch) {
    let folder = folder(&[("x.csv", content.as_bytes())]);
    let paths = [folder.path().join("x.csv")];
    let mut calls = 0;
    let source = Source::begin(&paths, &threads(4), &Meter::new()).unwrap();
    let batch = source.load(|schema, batches| {
        calls += 1;
        let batches = batches.collect::<Result<Vec<_>, LoadError>>()?;
        Ok::<_, LoadError>(arrow_select::concat::concat_batches(&schema, &batches).unwrap())
    });
    (calls, batch.unwrap())
}

#[test]
fn one_thread_and_many_read_the_same() {
    let texts = [
        text("n,f,s,d", |n| format!("{n},{}.25,word {n},2013-02-08\n", n % 97)),
        // every record has line ends within quotes: guesses go wrong all the time
        text("n,s", |n| format!("{n},\"{}\"\n", format!("{n},x\n").repeat(n % 29))),
        // and doubled quotes, so that nothing is regular
        text("n,s", |n| format!("{n},\"{}\"\r\n", "say \"\"1,2\"\"\n".repeat(n % 13))),
        // carriage returns alone: there is no line feed to guess by
        text("n,s", |n| format!("{n},{}\r", "z".repeat(n % 50))).replace('\n', "\r"),
        // one record longer than a piece
        text("n,s", |n| format!("{n},{}\n", "long ".repeat(if n == 1000 { 600_000 } else { 1 }))),
    ];
    for (case, text) in texts.iter().enumerate() {
        let wanted = load_csv(text.as_bytes(), &threads(1)).unwrap();
        assert!(wanted.num_rows() > 1000, "case {case}");
        for count in [2, 5, 16] {
            let found = load_csv(text.as_bytes(), &threads(count)).unwrap();
            assert_eq!(found, wanted, "case {case}, {count} threads");
        }
    }
}

#[test]
fn a_late_value_begins_the_load_again_once() {
    let plain = text("a,b,c", |n| format!("{n},{n},\n"));
    assert_eq!(calls(&plain).0, 1);
    let (times, batch) = calls(&format!("{plain}0.5,x,2013-02-08\n"));
    assert_eq!(times, 2);
    assert_eq!(types(&batch), ["Float64", "Utf8", "Date32"]);
    // text in a column that had no value yet changes no type
    let (times, batch) = calls(&format!("{plain}1,2,x\n"));
    assert_eq!((times, &types(&batch)[2][..]), (1, "Utf8"));
    assert_eq!(batch.column(2).null_count(), batch.num_rows() - 1);
    // whole numbers beyond 64 bits are text, until a fraction makes them measurements
    let big = text("a", |n| format!("{}00000000000000000000\n", n + 1));
    assert_eq!(types(&calls(&big).1), ["Utf8"]);
    let (times, batch) = calls(&format!("{big}0.5\n"));
    assert_eq!((times, &types(&batch)[0][..]), (2, "Float64"));
}

/// What is wrong is what is wrong first, whichever thread comes to it.
#[test]
fn errors_are_those_of_the_first_fault() {
    let good = text("n,s", |n| format!("{n},\"{n}\n\"\n"));
    let lines = good.matches('\n').count();
    let bad = format!("{good}1,2,3\n{}1\n", &good[4..]);
    for count in [1, 2, 8] {
        let error = load_csv(bad.as_bytes(), &threads(count)).unwrap_err();
        let LoadError::Ragged { line, found, .. } = error else { panic!("{error}") };
        assert_eq!((line, found), (lines as u64 + 1, 3));
    }
    let mut bytes = good.clone().into_bytes();
    bytes.extend(b"1,caf\xe9\n");
    bytes.extend(&good.as_bytes()[4..]);
    let error = load_csv(&bytes, &threads(8)).unwrap_err();
    let LoadError::NotUtf8 { line, field: 2, .. } = error else { panic!("{error}") };
    assert_eq!(line, lines as u64 + 1);
    let open = format!("{good}1,\"{}", &good[4..].replace('"', ""));
    let error = load_csv(open.as_bytes(), &threads(8)).unwrap_err();
    let LoadError::UnclosedQuote { line, .. } = error else { panic!("{error}") };
    assert_eq!(line, lines as u64 + 1);
}

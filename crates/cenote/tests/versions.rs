//! Versions of a frame, from the outside: what is appended, kept, tagged, compared and dropped.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use cenote::{Error, Frame, IfExists, Keep, Pool, Refusal, Selection, VersionState, Which};

/// Ten rows of day `day`.
fn day(day: i64) -> RecordBatch {
    let days: ArrayRef = Arc::new(Int64Array::from(vec![day; 10]));
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let values = (0..10).map(|i| day as f64 + f64::from(i) / 10.0);
    let values: ArrayRef = Arc::new(Float64Array::from_iter_values(values));
    RecordBatch::try_from_iter([("day", days), ("value", values)]).unwrap()
}

fn pool() -> Pool {
    Pool::embedded(Some(256 << 20)).unwrap()
}

/// The days of a frame, each of which must be whole.
fn days(frame: &Frame) -> Vec<i64> {
    let mut found = Vec::new();
    for batch in frame.batches().unwrap() {
        let days: &Int64Array = batch.column(0).as_any().downcast_ref().unwrap();
        assert_eq!(batch, day(days.value(0)));
        found.push(days.value(0));
    }
    found
}

fn get(pool: &Pool, which: Which) -> Result<Frame, Error> {
    pool.get_selected("t", &Selection { which, ..Selection::default() })
}

/// Waits until nothing is left of what was let go.
fn settled(pool: &Pool, chunks: u64) {
    let begin = Instant::now();
    loop {
        let info = pool.info().unwrap();
        if (info.chunks, info.retired_held, info.leaked) == (chunks, 0, 0) {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "not {chunks} chunks: {info:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_is_appended_comes_after_what_is_there() {
    let pool = pool();
    let all: Vec<i64> = (0..700).collect();
    for &one in &all {
        assert_eq!(pool.append("t", &[day(one)]).unwrap(), u64::try_from(one + 1).unwrap());
        if one % 97 == 0 {
            assert_eq!(days(&pool.get("t").unwrap()), all[..=usize::try_from(one).unwrap()]);
        }
    }
    let frame = pool.get("t").unwrap();
    assert_eq!(days(&frame), all);
    assert_eq!((frame.num_rows(), frame.num_partitions()), (7000, 700));
    // Rows and columns across the parts.
    let some = Selection {
        columns: Some(vec!["value".to_owned()]),
        rows: Some((3995, 4005)),
        ..Selection::default()
    };
    let some = pool.get_selected("t", &some).unwrap().batches().unwrap();
    let values = some.iter().flat_map(|batch| {
        let values: &Float64Array = batch.column(0).as_any().downcast_ref().unwrap();
        values.values().to_vec()
    });
    let expected = (3995..4005).map(|row| f64::from(row / 10) + f64::from(row % 10) / 10.0);
    assert_eq!(values.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    // Versions that only others need are no clients' concern, and go with the frame.
    settled(&pool, 700);
    drop((frame, some));
    pool.drop_frame("t").unwrap();
    settled(&pool, 0);
}

/// More chunks than are leased one by one: the version is leased as a whole.
#[test]
fn a_version_of_many_parts_is_leased_whole_and_outlives_its_name() {
    let pool = pool();
    let wide = |n: i64| {
        let columns = (0..40).map(|c| {
            let values: ArrayRef = Arc::new(Int64Array::from(vec![n * 100 + c; 300]));
            (format!("c{c}"), values)
        });
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let batches: Vec<RecordBatch> = (0..40).map(wide).collect();
    for pair in batches.chunks(2) {
        pool.append("t", pair).unwrap();
    }
    let frame = pool.get("t").unwrap();
    pool.put("t", &[wide(99)], IfExists::Replace).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(frame.batches().unwrap(), batches);
    drop(frame);
    settled(&pool, 40);
    pool.drop_frame("t").unwrap();
    settled(&pool, 0);
}

#[test]
fn versions_are_kept_as_said_and_found_by_number_time_and_tag() {
    let pool = pool();
    pool.put("t", &[day(1)], IfExists::Fail).unwrap();
    pool.keep("t", Keep { versions: 3, seconds: None }).unwrap();
    let mut times = vec![get(&pool, Which::Current).unwrap().created_ns()];
    for version in 2..=6 {
        pool.put("t", &[day(version)], IfExists::Replace).unwrap();
        times.push(get(&pool, Which::Current).unwrap().created_ns());
        if version == 3 {
            assert_eq!(pool.tag("t", "good", None).unwrap(), 3);
        }
    }
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    let living: Vec<u64> = pool.versions("t").unwrap().iter().map(|v| v.version).collect();
    assert_eq!(living, [3, 4, 5, 6]);
    let read = |which| get(&pool, which).map(|frame| (frame.version(), days(&frame)));
    assert_eq!(read(Which::Version(4)).unwrap(), (4, vec![4]));
    assert_eq!(read(Which::Tag("good".to_owned())).unwrap(), (3, vec![3]));
    assert_eq!(read(Which::AsOf(times[4])).unwrap(), (5, vec![5]));
    assert_eq!(read(Which::AsOf(times[5] - 1)).unwrap(), (5, vec![5]));
    for gone in [Which::Version(2), Which::AsOf(times[1]), Which::Tag("bad".to_owned())] {
        match read(gone.clone()) {
            Err(Error::Refused(Refusal::NoVersion { living, .. })) => {
                assert_eq!(living, [3, 4, 5, 6]);
            }
            other => panic!("{gone:?}: {other:?}"),
        }
    }
    for needed in [3, 6] {
        let refused = pool.drop_version("t", needed);
        assert!(matches!(refused, Err(Error::Refused(Refusal::Needed { .. }))), "{refused:?}");
    }
    let held = get(&pool, Which::Version(4)).unwrap();
    pool.drop_version("t", 4).unwrap();
    pool.untag("t", "good").unwrap();
    assert_eq!(days(&held), [4], "who reads a version goes on");
    drop(held);
    // Of those that live the newest three are kept.
    settled(&pool, 3);
    let states: Vec<_> = pool.log("t").unwrap().versions.iter().map(|v| v.state).collect();
    use VersionState::{Current, Gone, Kept};
    assert_eq!(states, [Gone, Gone, Kept, Gone, Kept, Current]);
}

#[test]
fn a_version_that_was_not_expected_is_a_conflict() {
    let pool = pool();
    let put = |expected: u64, if_exists| {
        let writer = pool.writer("t", day(1).schema(), if_exists).unwrap();
        let mut writer = writer.expect_version(expected);
        writer.write(&day(1)).unwrap();
        writer.commit()
    };
    let conflict = |outcome: Result<u64, Error>| match outcome {
        Err(Error::Refused(Refusal::Conflict { expected, found, .. })) => (expected, found),
        other => panic!("{other:?}"),
    };
    assert_eq!(conflict(put(1, IfExists::Append)), (1, 0));
    assert_eq!(put(0, IfExists::Append).unwrap(), 1);
    assert_eq!(conflict(put(0, IfExists::Replace)), (0, 1));
    assert_eq!(put(1, IfExists::Append).unwrap(), 2);
    assert_eq!(conflict(put(1, IfExists::Append)), (1, 2));
    assert_eq!(days(&pool.get("t").unwrap()), [1, 1]);
    settled(&pool, 2);
}

#[test]
fn all_of_two_that_append_at_once_is_there() {
    let pool = pool();
    let threads = (0..4).map(|thread| {
        let pool = pool.clone();
        std::thread::spawn(move || {
            for i in 0..60 {
                pool.append("t", &[day(thread * 1000 + i)]).unwrap();
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    let frame = pool.get("t").unwrap();
    assert_eq!(frame.version(), 240);
    let mut found = days(&frame);
    for thread in 0..4 {
        let own = found.iter().filter(|day| *day / 1000 == thread);
        assert!(own.is_sorted(), "what one has appended is in its order");
    }
    found.sort_unstable();
    let expected = (0..4).flat_map(|thread| (0..60).map(move |i| thread * 1000 + i));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn what_has_other_columns_is_not_appended() {
    let pool = pool();
    pool.put("t", &[day(1)], IfExists::Fail).unwrap();
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"; 10]));
    let one = day(2);
    let other = [("day", one.column(0).clone()), ("value", texts)];
    let error = pool.append("t", &[RecordBatch::try_from_iter(other).unwrap()]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("\"value\"") && text.contains("Utf8") && text.contains("Float64"),
        "{text}"
    );
    let error = pool.append("t", &[one.project(&[0]).unwrap()]).unwrap_err().to_string();
    assert!(error.contains("not there"), "{error}");
    assert_eq!(days(&pool.get("t").unwrap()), [1]);
    // Metadata is the frame's own, and what has no nulls goes where they may be.
    let schema = (*one.schema()).clone();
    let fields: Vec<_> =
        schema.fields().iter().map(|f| (**f).clone().with_nullable(false)).collect();
    let metadata = std::collections::HashMap::from([("a".to_owned(), "b".to_owned())]);
    let schema = arrow_schema::Schema::new_with_metadata(fields, metadata);
    let strict = RecordBatch::try_new(Arc::new(schema), one.columns().to_vec()).unwrap();
    pool.append("t", &[strict]).unwrap();
    assert_eq!(days(&pool.get("t").unwrap()), [1, 2]);
}

#[test]
fn what_made_a_version_is_remembered_and_two_are_compared() {
    let pool = pool();
    let mut writer = pool.writer("t", day(1).schema(), IfExists::Fail).unwrap().source("days/");
    writer.made().note = "the first".to_owned();
    writer.write(&day(1)).unwrap();
    writer.commit().unwrap();
    pool.keep("t", Keep { versions: 9, seconds: None }).unwrap();
    pool.append("t", &[day(2)]).unwrap();
    let log = pool.log("t").unwrap().versions;
    assert_eq!((log[0].source.as_str(), log[0].made.note.as_str()), ("days/", "the first"));
    assert!(!log[0].made.append && log[1].made.append);
    assert_eq!(log[0].made.pid, std::process::id());
    assert!(!log[1].made.command.is_empty());
    let diff = pool.diff("t", Which::Version(1), Which::Current).unwrap();
    assert_eq!((diff.from.num_rows, diff.to.num_rows), (10, 20));
    assert_eq!((diff.shared_bytes, diff.columns.len()), (diff.from.nbytes, 0));
    let summaries: Vec<_> = diff.statistics.iter().map(|c| (c.from.is_some(), &c.to)).collect();
    assert!(summaries.iter().all(|(from, to)| *from && to.as_ref().unwrap().nulls == Some(0)));
    let (first, last) = (diff.statistics[0].from.as_ref(), diff.statistics[0].to.as_ref());
    assert!(first.unwrap().min.is_some() && first.unwrap().max != last.unwrap().max);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let other = RecordBatch::try_from_iter([("day", texts.clone()), ("name", texts)]).unwrap();
    pool.put("t", &[other], IfExists::Replace).unwrap();
    let diff = pool.diff("t", Which::Version(2), Which::Version(3)).unwrap();
    let changes: Vec<_> =
        diff.columns.iter().map(|c| (c.name.as_str(), c.from.is_some(), c.to.is_some())).collect();
    assert_eq!(changes, [("day", true, true), ("value", true, false), ("name", false, true)]);
    assert_eq!(diff.shared_bytes, 0);
}

#[test]
fn a_version_is_restored_with_its_number_and_time() {
    let pool = pool();
    let restore = |day_of: i64, version: u64, time, exists| -> Result<u64, Error> {
        let mut writer = pool.writer("t", day(day_of).schema(), exists)?.restore(version, time);
        writer.made().note = format!("it was {version}");
        writer.made().append = true;
        writer.write(&day(day_of))?;
        writer.commit()
    };
    assert_eq!(restore(1, 5, 1_000, IfExists::Fail).unwrap(), 5);
    pool.keep("t", Keep { versions: 9, seconds: None }).unwrap();
    assert_eq!(restore(2, 7, 2_000, IfExists::Append).unwrap(), 7);
    let refused =
        |version, time| restore(3, version, time, IfExists::Append).unwrap_err().to_string();
    assert!(refused(7, 3_000).contains("version 7 cannot follow version 7"));
    assert!(refused(u64::MAX, 3_000).contains("cannot follow"));
    assert!(refused(8, 2_000).contains("2000 ns since 1970 cannot follow one of 2000 ns"));
    assert!(refused(8, u64::MAX).contains("cannot follow"));
    let log = pool.log("t").unwrap().versions;
    let said: Vec<_> = log.iter().map(|v| (v.version, v.created_ns, v.made.append)).collect();
    assert_eq!(said, [(5, 1_000, true), (7, 2_000, true)]);
    assert_eq!(log[0].made.note, "it was 5");
    let as_of = |ns| get(&pool, Which::AsOf(ns)).map(|frame| frame.version()).ok();
    // what was between 5 and 7 nobody knows
    assert_eq!((as_of(999), as_of(1_500), as_of(2_000)), (None, None, Some(7)));
    assert!(pool.get("t").unwrap().goes_on_from(&get(&pool, Which::Version(5)).unwrap()));
    assert!(!get(&pool, Which::Version(5)).unwrap().goes_on_from(&pool.get("t").unwrap()));
    assert_eq!(pool.append("t", &[day(4)]).unwrap(), 8);
    assert_eq!(days(&pool.get("t").unwrap()), [1, 2, 4]);
}

//! A pool from the outside, embedded and served.
#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use cenote::{Error, IfExists, Options, Pool, Refusal, RunDir, Selection};
use cenote_pool::pool::Config;

/// A served pool in a directory of its own, with its daemon in a thread of this process.
struct Served {
    dir: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    server: Option<std::thread::JoinHandle<()>>,
}

impl Served {
    fn new(capacity: u64) -> Served {
        let dir = tempfile::Builder::new().prefix("cenote-test-").tempdir_in("/dev/shm").unwrap();
        let mut this = Served { dir, stop: Arc::default(), server: None };
        this.start(capacity);
        this
    }

    fn start(&mut self, capacity: u64) {
        let config = Config {
            dir: RunDir::at(self.dir.path().join("pool")),
            capacity: Some(capacity),
            reserve: Some(0),
            idle_exit: None,
            ephemeral: false,
        };
        self.stop = Arc::default();
        let stop = self.stop.clone();
        let (ready, is_ready) = std::sync::mpsc::channel();
        self.server = Some(std::thread::spawn(move || {
            let ready = move |_: &_| ready.send(()).unwrap();
            cenote::serve(config, ready, &|| stop.load(Ordering::Relaxed)).unwrap();
        }));
        is_ready.recv().unwrap();
    }

    fn connect(&self) -> Pool {
        let address = Some(self.dir.path().join("pool").display().to_string());
        Pool::connect(Options { address, ..Options::default() }).unwrap()
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(server) = self.server.take() {
            let outcome = server.join();
            assert!(std::thread::panicking() || outcome.is_ok(), "the daemon failed");
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}

fn batch(start: i64, rows: i64) -> RecordBatch {
    let ids = Int64Array::from_iter_values(start..start + rows);
    let close: Float64Array =
        (start..start + rows).map(|i| (i % 7 != 0).then_some(i as f64 / 3.0)).collect();
    let names = StringArray::from_iter_values((start..start + rows).map(|i| format!("row {i}")));
    let columns: [(&str, ArrayRef); 3] =
        [("id", Arc::new(ids)), ("close", Arc::new(close)), ("name", Arc::new(names))];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// What it must come to: nothing leaked, within a second.
fn settle(pool: &Pool) -> cenote::PoolInfo {
    let begin = std::time::Instant::now();
    loop {
        let info = pool.info().unwrap();
        if (info.leaked == 0 && info.retired_held == 0) || begin.elapsed().as_secs() >= 1 {
            return info;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn tables_come_back_as_they_went_in() {
    let mut served = Served::new(256 << 20);
    for pool in [Pool::embedded(Some(256 << 20)).unwrap(), served.connect()] {
        for rows in [0, 1, 10, 1000, 300_000] {
            let batches = [batch(0, rows), batch(rows, rows / 2)];
            pool.put("t", &batches, IfExists::Replace).unwrap();
            let frame = pool.get("t").unwrap();
            assert_eq!(frame.num_rows(), (rows + rows / 2) as u64);
            let back = frame.batches().unwrap();
            // Of a table without rows all come, for what they say of its columns.
            let all = batches.iter().all(|b| b.num_rows() == 0);
            let filled = batches.iter().filter(|b| all || b.num_rows() > 0);
            assert_eq!(back, filled.cloned().collect::<Vec<_>>());
        }
        let selection = Selection {
            columns: Some(vec!["name".into(), "id".into()]),
            rows: Some((299_990, 300_010)),
            ..Selection::default()
        };
        let part = pool.get_selected("t", &selection).unwrap();
        let back = part.batches().unwrap();
        assert_eq!(back.len(), 2);
        assert_eq!(back[0].num_rows() + back[1].num_rows(), 20);
        let ids = back[1].column(1).as_any().downcast_ref::<Int64Array>().unwrap();
        assert_eq!(ids.value(0), 300_000);
        drop((part, back, pool));
    }
    served.end();
}

#[test]
fn a_version_lives_as_long_as_somebody_reads_it_and_then_its_space_is_free() {
    let served = Served::new(64 << 20);
    let (writer, reader) = (served.connect(), served.connect());
    writer.put("t", &[batch(0, 100_000)], IfExists::Fail).unwrap();
    let old = reader.get("t").unwrap();
    let close = old.batches().unwrap()[0].column(1).clone();
    drop(old);
    for i in 1..20 {
        writer.put("t", &[batch(i, 100_000)], IfExists::Replace).unwrap();
    }
    let expected = batch(0, 100_000).column(1).clone();
    assert_eq!(&close, &expected, "a held column was written over");
    assert!(settle(&reader).retired_held > 0);
    drop(close);
    let info = settle(&reader);
    assert_eq!((info.leaked, info.retired_held), (0, 0), "{info:?}");
    writer.drop_frame("t").unwrap();
    assert!(matches!(reader.get("t"), Err(Error::Refused(Refusal::NotFound { .. }))));
    let info = settle(&reader);
    assert_eq!((info.leaked, info.retired_held, info.sealed), (0, 0, 0), "{info:?}");
}

#[test]
fn a_full_pool_refuses_with_numbers_and_leaves_nothing() {
    let served = Served::new(16 << 20);
    let pool = served.connect();
    let big = batch(0, 1_000_000);
    match pool.put("big", &[big], IfExists::Fail) {
        Err(Error::Refused(Refusal::Exhausted { asked, free, capacity, .. })) => {
            assert!(asked > free && capacity == 16 << 20);
        }
        other => panic!("{other:?}"),
    }
    let info = settle(&pool);
    assert_eq!((info.frames, info.leaked), (0, 0));
    pool.put("small", &[batch(0, 1000)], IfExists::Fail).unwrap();
}

/// A daemon whose directory was removed lived on; when it ended, it removed the socket of the
/// one that had made the directory anew.
#[test]
fn a_daemon_that_has_lost_its_directory_ends_and_touches_nothing() {
    let mut served = Served::new(16 << 20);
    let root = served.dir.path().join("pool");
    std::fs::remove_dir_all(&root).unwrap();
    let orphan = (served.stop.clone(), served.server.take().unwrap());
    served.start(16 << 20);
    served.connect().put("t", &[batch(0, 10)], IfExists::Fail).unwrap();
    let begin = std::time::Instant::now();
    while !orphan.1.is_finished() {
        assert!(begin.elapsed().as_secs() < 10, "it does not end by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    orphan.1.join().unwrap();
    drop(orphan.0);
    assert_eq!(served.connect().get("t").unwrap().num_rows(), 10);
}

/// What a put was about to be given was counted as taken before it was asked whether there was
/// room for it: large puts could use half of a pool.
#[test]
fn a_pool_holds_what_its_capacity_says() {
    let served = Served::new(64 << 20);
    let pool = served.connect();
    let rows = (20 << 20) / 8;
    let column = |i: i64| Arc::new(Int64Array::from_iter_values(i..i + rows)) as ArrayRef;
    for i in 0..3 {
        let batch = RecordBatch::try_from_iter([("x", column(i))]).unwrap();
        pool.put(&format!("t{i}"), &[batch], IfExists::Fail).unwrap();
    }
    let batch = RecordBatch::try_from_iter([("x", column(3))]).unwrap();
    match pool.put("t3", &[batch], IfExists::Fail) {
        Err(Error::Refused(Refusal::Exhausted { free, .. })) => assert!(free < 5 << 20, "{free}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_daemon_takes_over_and_clients_go_on() {
    let mut served = Served::new(64 << 20);
    let pool = served.connect();
    for i in 0..50 {
        pool.put(&format!("t{i}"), &[batch(i, 1000)], IfExists::Fail).unwrap();
    }
    let held = pool.get("t7").unwrap();
    let before = held.batches().unwrap();
    pool.drop_frame("t7").unwrap();
    served.end();
    // Readers need no daemon.
    assert_eq!(pool.get("t3").unwrap().batches().unwrap(), [batch(3, 1000)]);
    served.start(64 << 20);
    assert_eq!(pool.frames().unwrap().len(), 49);
    assert_eq!(before, [batch(7, 1000)]);
    pool.put("t7", &[batch(70, 10)], IfExists::Fail).unwrap();
    assert_eq!(pool.get("t7").unwrap().batches().unwrap(), [batch(70, 10)]);
    assert_eq!(before, [batch(7, 1000)]);
    let other = served.connect();
    for i in 8..50 {
        assert_eq!(other.get(&format!("t{i}")).unwrap().batches().unwrap(), [batch(i, 1000)]);
    }
    assert_eq!(pool.info().unwrap().lost, []);
    drop((held, before));
    let info = settle(&pool);
    assert_eq!((info.leaked, info.retired_held), (0, 0), "{info:?}");
}

#[test]
fn a_reference_opens_the_version_that_it_names() {
    let served = Served::new(64 << 20);
    let (here, there) = (served.connect(), served.connect());
    here.put("t", &[batch(0, 5000)], IfExists::Fail).unwrap();
    let frame = here.get("t").unwrap();
    let bytes = frame.reference().to_bytes();
    assert!(bytes.len() < 1024);
    here.put("t", &[batch(1, 10)], IfExists::Replace).unwrap();
    let reference = cenote::FrameRef::from_bytes(&bytes).unwrap();
    let opened = there.open(&reference).unwrap();
    assert_eq!(opened.batches().unwrap(), [batch(0, 5000)]);
    drop((frame, opened));
    settle(&here);
    assert!(matches!(there.open(&reference), Err(Error::Refused(Refusal::VersionGone))));
}

#[test]
fn many_threads_replace_and_read() {
    let served = Served::new(256 << 20);
    let pool = served.connect();
    pool.put("t", &[batch(0, 20_000)], IfExists::Fail).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (pool, stop) = (served.connect(), stop.clone());
            std::thread::spawn(move || {
                let mut reads = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    let frame = pool.get("t").unwrap();
                    let batches = frame.batches().unwrap();
                    let ids = batches[0].column(0).as_any().downcast_ref::<Int64Array>().unwrap();
                    let first = ids.value(0);
                    assert!(ids.values().iter().zip(first..).all(|(a, b)| *a == b));
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    for i in 0..1000 {
        pool.put("t", &[batch(i, 2_000)], IfExists::Replace).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.join().unwrap() > 0);
    }
    let info = settle(&pool);
    assert_eq!((info.leaked, info.retired_held), (0, 0), "{info:?}");
}
